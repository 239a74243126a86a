// What the operations of an exported program cost that one call of a leaf stands for.
#pragma once

#include <cstdint>
#include <vector>

#include "exported/program_graph.h"
#include "graph/cost.h"

namespace fxtrace {

// Of these operations of the graph, by index, in their order.  Values that others make are there already.
// `uses` as count_uses().
Cost cost_of_operations(const ProgramGraph& graph, const std::vector<std::uint32_t>& operations,
                        const std::vector<std::uint32_t>& uses);

}  // namespace fxtrace
