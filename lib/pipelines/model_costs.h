// Costs of a collection with the user's rules, at the sizes that are asked for.
#pragma once

#include <vector>

#include "costs/at_sizes.h"
#include "fxtrace/listener.h"
#include "graph/graph_collection.h"
#include "trace/options/config.h"

namespace fxtrace::internal {

// Computes the costs that the configuration asks for, also in a collection that was not traced with it, and
// sets the sizes.  Throws Error(kUsage) for names that the collection does not have.
void apply_costs(const Config& config, const std::vector<GivenSizes>& at, GraphCollection& collection,
                 const Listener& listener);
// Does the same for two collections; each name must be in at least one of them.
void apply_costs(const Config& config, const std::vector<GivenSizes>& at, GraphCollection& first,
                 GraphCollection& second, const Listener& listener);

}  // namespace fxtrace::internal
