// Which nodes of a graph say nothing about what the model computes: sizes and arithmetic with them, questions
// of dtype and device, asserts, modes such as autocast, and what depends on neither inputs nor parameters
// (positions and masks that are made of sizes).
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace fxtrace {

enum class Role : std::uint8_t {
  kShown,
  kPlumbing,   // left out, with its edges
  kPass,       // left out; its users take what it takes: items of tuples, copies of constants
  kAttribute,  // a parameter or buffer: its users tell of it
  kConstant    // of the code, or computed of such: likewise
};

// By position in `order`, that of graph.graph.  A number that elements of tensors decide is shown.
std::vector<Role> find_roles(const ModuleGraph& graph, const std::vector<NodeId>& order);

}  // namespace fxtrace
