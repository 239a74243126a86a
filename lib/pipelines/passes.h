// Graph passes on a collection, parts of it, and what a strict configuration takes for a failure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "costs/graph_costs.h"
#include "extract/extract.h"
#include "fxtrace/listener.h"
#include "graph/graph_collection.h"
#include "passes/pass.h"
#include "pipelines/read_model.h"
#include "trace/options/options.h"

namespace fxtrace::internal {

class ModelFile;

// Throws Error(kUsage) for an unknown name of a pass.
void check_passes(const std::vector<std::string>& names);

// Runs passes, which must exist, in order, and updates the costs.  Returns a report for each that ran, and
// tells the listener of the nodes that they left unchanged.
std::vector<PassReport> run_passes(const std::vector<std::string>& names, GraphCollection& collection,
                                   const Listener& listener);

// Returns the result of extract(), with the costs of the part.
GraphCollection extract_part(const GraphCollection& collection, const ExtractRequest& part);

// Appends passes that were run on a saved collection to those of its options.
void add_to_options(const std::vector<std::string>& names, GraphCollection& collection);

// Returns a description of what --strict takes for a failure: modules that failed to trace, and writes that
// stay although a pass was to remove them.  Returns nothing when all went well.
std::optional<std::string> strict_failure(const std::vector<std::string>& passes,
                                          const GraphCollection& collection);

// Makes the run fall short if the configuration is strict and strict_failure() finds something.
void check_strict(const Config& config, const GraphCollection& collection, const ModelFile& file, Run& run);

// Costs of a collection with the user's rules, at the sizes that are asked for.

// Computes the costs that the configuration asks for, also in a collection that was not traced with it, and
// sets the sizes.  Throws Error(kUsage) for names that the collection does not have.
void apply_costs(const Config& config, const std::vector<GivenSizes>& at, GraphCollection& collection,
                 const Listener& listener);
// Does the same for two collections; each name must be in at least one of them.
void apply_costs(const Config& config, const std::vector<GivenSizes>& at, GraphCollection& first,
                 GraphCollection& second, const Listener& listener);

}  // namespace fxtrace::internal
