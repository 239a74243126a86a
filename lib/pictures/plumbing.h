// Which nodes of a graph say nothing about what the model computes: sizes and arithmetic with them, questions
// of dtype and device, asserts, modes such as autocast, and constants.
#pragma once

#include <cstddef>
#include <vector>

#include "graph/graph.h"

namespace fxtrace {

enum class Role : std::uint8_t {
  kShown,
  kPlumbing,   // left out, with its edges
  kPass,       // left out; its users take what it takes: items of tuples, copies of constants
  kAttribute,  // a parameter, buffer or constant: its users tell of it
};

// By position in `order`, which is graph.order().  A number that elements of tensors decide is shown.
std::vector<Role> find_roles(const Graph& graph, const std::vector<NodeId>& order);

}  // namespace fxtrace
