// Node pairs: which nodes of two graphs correspond to each other.
//
// Names of nodes say little, since one change renumbers them.  Nodes are paired by hashes (Keys) of what they
// do and of the graph around them; the surest hashes come first, and each step only looks at nodes that are
// left.  The hashes of a node are:
// - its label: its target and its constant arguments, without the nodes among them;
// - behind: the label with all that the value is computed from;
// - ahead: the label with all that is computed from the value;
// - near: the label with the neighbours up to a radius of 1 to 3.
//
// One change in a graph leaves behind, or ahead, as it was for nearly every other node.  So the steps are:
// inputs and the output; equal behind, then equal ahead, in the same call of a module; from pairs along the
// edges to nodes with equal labels (spread()); equal near, if each side has one such node; order within a
// call of a module, as in a text diff (align()).  Then again with weaker keys: another constant argument,
// another call of the module, another module.  join_replaced() pairs nodes that do something else in the same
// place.
//
// Invariants:
// 1. in_after() and in_before() are inverse.  A pair is never undone, and a node is in one pair at most.
// 2. Placeholders and outputs only pair with their like.
// 3. join_equal() and spread() pair nodes that share a key in order, and only if both sides have equally many
//    of them left.
// 4. Pairs by near, by order and by the weaker keys are refused if the feeds, or the users, of both nodes are
//    paired, but none of them with one of the other node's (is_elsewhere()).
// 5. A pair does not mean that the nodes are equal: the comparison reports what differs.
//
// Example: a model in which gelu takes the place of relu.
//
//     before                                after
//     %x = placeholder[x]                   %x = placeholder[x]
//     %up = call_module[up](%x)             %up = call_module[up](%x)
//     %relu = aten.relu.default(%up)        %gelu = aten.gelu.default(%up)
//     %down = call_module[down](%relu)      %down = call_module[down](%gelu)
//     output(%down)                         output(%down)
//
// %x and the output pair as ports.  %up has equal hashes behind, since relu comes after it; %down has another
// one behind, but an equal one ahead.  %relu and %gelu share no key.  join_replaced() pairs them, because
// each is the only node left that takes %up and feeds %down.
#pragma once

#include <vector>

#include "compare/pairing/compared_graph.h"

namespace fxtrace::internal {

class NodePairs {
 public:
  NodePairs(const ComparedGraph& before, const ComparedGraph& after);

  // Return the place of the corresponding node in the other graph; kNoPlace if there is none.
  Place in_after(Place node) const { return in_after_[node]; }
  Place in_before(Place node) const { return in_before_[node]; }
  // Returns whether both nodes and all that they are computed from do the same.
  bool is_same_value(Place before, Place after) const {
    return behind_.before[before] == behind_.after[after];
  }

 private:
  // A hash for each node of both graphs.
  struct Keys {
    std::vector<std::uint64_t> before, after;
  };
  Keys behind_;
  template <class F>
  Keys keys(F&& key) const;
  Keys with(const Keys& where, const Keys& what) const;
  Keys behind(const Keys& labels) const;
  Keys ahead(const Keys& labels) const;
  Keys near(const Keys& labels) const;

  void join(Place before, Place after);
  bool is_elsewhere(Place before, Place after) const;
  void join_ports();
  enum class Join { kAll, kOne, kNear };
  void join_equal(const Keys& keys, Join which);
  void join_in_order(const Keys& places, const Keys& keys);
  void spread(const Keys& labels);
  void spread_from(Place before, Place after, const Keys& labels);
  void join_replaced();

  const ComparedGraph& before_;
  const ComparedGraph& after_;
  std::vector<Place> in_after_, in_before_;
  std::vector<PlacePair> pending_;  // pairs whose edges spread() has still to follow
};

}  // namespace fxtrace::internal
