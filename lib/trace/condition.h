// Tells conditions apart, so that what is known of one is known of all that ask the same.
#pragma once

#include <string>

#include "graph/graph.h"

namespace fxtrace {

// Conditions of one graph that have the same key have the same value: they compare the same numbers in the
// same way, in whatever spelling (`n > 0`, `0 < n`).  `opposite` is turned round when the key is that of the
// opposite
// (`n <= 0`, `not n > 0`).  Values that may have changed in between never have the same key.
std::string condition_key(const Graph& graph, NodeId condition, bool& opposite);

}  // namespace fxtrace
