// Calls that switch something of torch for the calls behind them: autocast, gradients.
#pragma once

#include <vector>

#include "graph/graph_collection.h"
#include "passes/support/effects.h"

namespace fxtrace {

// Finds those that switch it for no call.  One goes through a graph from its end on, and tells of each node
// that stays.
class Switches {
 public:
  Switches(const ModuleGraph& graph, Semantics& semantics) : graph_(graph), semantics_(semantics) {}

  // The nodes that may go now, users first: this one, and what closes the region that it opens.
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
  std::vector<Region> regions_;  // that the place is in, the innermost last
  bool is_set_behind_ = false;   // the mode, before any call that it could matter for
};

}  // namespace fxtrace
