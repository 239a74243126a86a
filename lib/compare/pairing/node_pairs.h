// Which nodes of two graphs belong together.
//
// Most do by all that is behind them (the values that they are made of) or by all that is ahead (what becomes
// of them): one change in a graph leaves one of the two as it was for every other node.  From there along the
// edges: what feeds nodes that belong together in the same place, and does the same, belongs together.  Then
// by what is near, where that is there once; and what is left by its order between these, as in a text
// (align()).
#pragma once

#include <vector>

#include "compare/pairing/compared_graph.h"

namespace fxtrace {

class NodePairs {
 public:
  NodePairs(const ComparedGraph& before, const ComparedGraph& after);

  // By node of one graph its place in the other; kNoPlace where nothing belongs to it.
  Place in_after(Place node) const { return in_after_[node]; }
  Place in_before(Place node) const { return in_before_[node]; }
  // Whether both are made in the same way, all that is behind them included.
  bool is_same_value(Place before, Place after) const {
    return behind_.before[before] == behind_.after[after];
  }

 private:
  // A number for each node of both graphs.
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
  std::vector<PlacePair> pending_;  // of spread()
};

}  // namespace fxtrace
