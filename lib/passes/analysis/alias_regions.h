// An alias analysis: which values of a graph may share memory, and where that memory is written.
//
// Values that may share memory are in one region: regions are unified, without regard to the order of nodes
// (B.  Steensgaard, Points-to Analysis in Almost Linear Time, POPL 1996).  Different inputs of a graph are
// assumed not to alias, as torch.export and torch.compile assume.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph_collection.h"
#include "passes/analysis/effects.h"

namespace fxtrace {

// The analysis of the graph as it is when this is made.  After changes of the graph, answers for the nodes
// that are still there stay valid.
class AliasRegions {
 public:
  AliasRegions(const ModuleGraph& graph, Semantics& semantics);

  bool knows(NodeId node) const { return node.index < region_of_.size(); }  // the node existed then
  // Returns false for numbers, strings and None, which are immutable.
  bool has_memory(NodeId value) const { return region_of_[value.index] != kNone; }
  bool same_region(NodeId a, NodeId b) const;
  // Returns the number of the value's region; has_memory() must hold.
  std::size_t region_number(NodeId value) const;
  std::size_t nodes() const { return region_of_.size(); }  // an upper bound of ids
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
  bool changes_shape(NodeId value) const;  // in place: unsqueeze_, resize_
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

}  // namespace fxtrace
