// Specs of nodes that are made like others.
#pragma once

#include "graph/graph.h"

namespace fxtrace {

// Returns the spec of a node like `node`, in the same graph or another one, without its arguments, and with
// its name as the hint.  Fields of Node that no spec has (method, cost, program) are not among it.
inline Graph::NodeSpec spec_like(const Node& node) {
  return {node.op,
          node.target,
          {},
          {},
          node.scope,
          node.meta,
          node.source,
          node.name,
          node.model_function,
          node.is_recorded};
}

}  // namespace fxtrace
