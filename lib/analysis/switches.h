// Finds calls that switch a mode of torch (autocast, gradients) without effect on any later call.
#pragma once

#include <vector>

#include "analysis/effects.h"
#include "graph/graph_collection.h"

namespace fxtrace::internal {

// A backward analysis: add() must be called for each node that is kept, from the graph's end to its start.
class Switches {
 public:
  Switches(const ModuleGraph& graph, Semantics& semantics) : graph_(graph), semantics_(semantics) {}

  // Returns the nodes that can be erased now, users first: this node, and the call that closes the region it
  // opens.
  std::vector<NodeId> add(const Node& node);

 private:
  struct Region {
    NodeId closed_by;
    bool has_calls = false;
  };

  std::vector<NodeId> open(const Node& node);
  bool may_depend_on_switches(const Node& node);
  bool is_number(const Node& node) const;

  const ModuleGraph& graph_;
  Semantics& semantics_;
  std::vector<Region> regions_;  // regions around the current place, the innermost last
  bool is_set_behind_ = false;   // the mode is set again before any call that depends on it
};

}  // namespace fxtrace::internal
