// Alias analysis by unification: which values of a graph may share memory, and where that memory is written.
//
// Before a pass moves, merges or drops a node, it must know whether another name of the same memory is
// written in between.  The analysis answers with regions: sets of values that may share memory.  Values are
// united by union-find in one walk over the nodes (B.  Steensgaard, Points-to Analysis in Almost Linear Time,
// POPL 1996).  Which view covers which part of a tensor is not recorded; view_tree.h does that.
//
// Invariants:
// 1. A value with memory (a tensor, or a value of an unknown kind such as a list) is in exactly one region;
//    an integer, a float, a bool and a string are in none.
// 2. Values that may share memory are in one region.  The converse does not hold: two values of one region
//    may have memory of their own.
// 3. The union disregards the order of nodes: two values of one region may share memory anywhere in the
//    graph.  Writes are recorded by position: "written before this node" is a question about the region.
// 4. Placeholders are assumed not to alias each other, as torch.export and torch.compile assume; they are
//    united only by nodes of the graph.  get_attr nodes are united when their parameters or buffers overlap
//    in memory (Semantics::memory_name()).
// 5. Inputs of a node are united with its result when the result may alias them (Effects::shared), and with
//    each other when the node may store one in another (Effects::joins_inputs).
// 6. A call of a leaf that may write parameters writes to the regions of those that earlier get_attr nodes
//    read.
// 7. Regions only grow: after changes of the graph, answers stay valid for the nodes that are still there.
//    New nodes are unknown: knows().
//
// Example:
//
//   position 0   %x = placeholder[x]()              regions: {x}, from outside
//            1   %c = aten.clone(%x)                {c}: a clone shares nothing
//            2   %v = aten.select.int(%c, 0, 0)     {c, v}: a view may alias its base
//            3   %w = aten.mul_.Tensor(%v, 2)       {c, v, w}: the result of mul_ is its first argument;
//                                                   the region is written at position 3
//            4   %s = aten.neg(%x)                  {s}
//            5   output(%c)                         {c, v, w} is given back
//
// writes_before(%c, %v) is 0 and writes_before(%c, output) is 1: reads of %c before and after position 3 must
// not be merged, whereas those of %x may be merged anywhere.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/effects.h"
#include "graph/graph_collection.h"

namespace fxtrace::internal {

// The regions of the graph as it is at construction.
class AliasRegions {
 public:
  AliasRegions(const ModuleGraph& graph, Semantics& semantics);

  // Returns whether the node existed at construction.
  bool knows(NodeId node) const { return node.index < region_of_.size(); }
  // Returns false for integers, floats, bools and strings, which are immutable.
  bool has_memory(NodeId value) const { return region_of_[value.index] != kNone; }
  bool same_region(NodeId a, NodeId b) const;
  // Returns the number of the value's region; has_memory() must hold.
  std::size_t region_number(NodeId value) const;
  std::size_t nodes() const { return region_of_.size(); }  // an upper bound of the nodes' ids
  std::size_t regions() const { return regions_.size(); }
  std::size_t position(NodeId node) const { return position_[node.index]; }
  // Returns whether the value may alias an input of the graph, a parameter, a buffer or a constant.
  bool is_from_outside(NodeId value) const;
  // Returns whether the value may alias an output of the graph.
  bool is_given_back(NodeId value) const;
  bool is_written(NodeId value) const { return !writes(value).all.empty(); }
  bool is_written_after(NodeId value, NodeId node) const {
    return writes_before(value, node) != writes(value).all.size();
  }
  // Returns whether a write to the region changes sizes or strides in place: unsqueeze_, resize_.
  bool changes_shape(NodeId value) const;
  // Returns the number of writes to the value's region before `node` runs.
  std::size_t writes_before(NodeId value, NodeId node) const;
  // Returns the number of changes of shape in the region before `node` runs.
  std::size_t shape_changes_before(NodeId value, NodeId node) const;
  // Merges the region of `copy`, which is no longer written, into that of `value`, which replaces it.
  void replace_copy(NodeId copy, NodeId value);

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  struct Writes {
    std::vector<std::uint32_t> all, shape_changes;  // positions of the writes, ascending
  };
  struct Region {
    std::uint32_t part_of = kNone;  // the region that this one was merged into
    std::uint32_t writes = kNone;   // index in writes_; most regions are never written
    bool from_outside = false, given_back = false;
  };

  std::uint32_t find(std::uint32_t index);
  void unite(NodeId a, NodeId b);
  const Region* region(NodeId value) const;
  const Writes& writes(NodeId value) const;

  std::vector<std::uint32_t> parent_;     // union-find forest, by node; only while regions are built
  std::vector<std::uint32_t> region_of_;  // by node
  std::vector<std::uint32_t> position_;   // by node
  std::vector<Region> regions_;
  std::vector<Writes> writes_;
};

}  // namespace fxtrace::internal
