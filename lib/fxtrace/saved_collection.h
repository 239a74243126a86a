// Saved collections: reading them, running graph passes on them, and extracting parts.
#pragma once

#include <string>
#include <vector>

#include "archive/model_file.h"
#include "extract/extract.h"
#include "graph/graph_collection.h"
#include "passes/pass.h"
#include "trace/options/config.h"
#include "trace/search/trace_program.h"

namespace fxtrace::internal {

// Reads the JSON that write_json() wrote; the listener is warned of ignored fields.  `name` is the file's
// name in messages.  Throws Error(kInput).
GraphCollection read_collection_file(const ModelFile& file, const std::string& name,
                                     const Listener& listener);

// Returns the options that the collection was traced with; the defaults if they are those of another version.
Config saved_options(const GraphCollection& collection);

// Throws Error(kUsage) for an unknown name of a pass.
void check_passes(const std::vector<std::string>& names);

// Runs passes, which must exist, in order, and updates the costs.  Returns a report for each that ran.
std::vector<PassReport> run_passes(const std::vector<std::string>& names, GraphCollection& collection);

// Returns the result of extract(), with the costs of the part.
GraphCollection extract_part(const GraphCollection& collection, const ExtractRequest& part);

// Appends passes that were run on a saved collection to those of its options.
void add_to_options(const std::vector<std::string>& names, GraphCollection& collection);

}  // namespace fxtrace::internal
