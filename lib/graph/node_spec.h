// Specs for new nodes that resemble existing ones.
#pragma once

#include "graph/graph.h"

namespace fxtrace {

// Returns the spec of a node like `node`, in the same graph or another one, without its arguments, and with
// its name as the hint.  Fields of Node that a spec does not have (method, cost, program) are lost.
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
