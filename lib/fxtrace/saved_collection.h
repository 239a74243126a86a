// Collections that a trace has left: reading them, and graph passes over them.
#pragma once

#include <string>
#include <vector>

#include "archive/model_file.h"
#include "graph/graph_collection.h"
#include "passes/pass.h"
#include "trace/trace_program.h"

namespace fxtrace {

// From the JSON that write_json() wrote; the listener is warned of what is left out.  `name` is the file's in
// messages.  Throws Error(kInput).
GraphCollection read_collection_file(const ModelFile& file, const std::string& name,
                                     const Listener& listener);

// Throws Error(kUsage) for a name that no pass has.
void check_passes(const std::vector<std::string>& names);

// Runs passes that exist, in that order, and keeps the costs right: a report for each that ran.
std::vector<PassReport> run_passes(const std::vector<std::string>& names, GraphCollection& collection);

// Puts passes that a saved collection went through behind those of its options.
void add_to_options(const std::vector<std::string>& names, GraphCollection& collection);

}  // namespace fxtrace
