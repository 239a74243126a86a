// Detection of plumbing: nodes that say little about what the model computes.  These are sizes and
// arithmetic on them, queries of dtype and device, asserts, modes such as autocast, and values that depend
// on neither inputs nor parameters (positions and masks made from sizes).
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace fxtrace::internal {

enum class Role : std::uint8_t {
  kShown,
  kPlumbing,  // omitted, with its edges
  kPass,      // omitted; its users take its inputs: items of tuples, parts of parameters, copies of constants
  kAttribute,  // a parameter or buffer, shown at its users
  kConstant    // a constant of the code, or computed from constants: likewise
};

// Returns the roles by position in `order`, which is graph.graph.order().  A number that depends on elements
// of tensors is shown.
std::vector<Role> find_roles(const ModuleGraph& graph, const std::vector<NodeId>& order);

}  // namespace fxtrace::internal
