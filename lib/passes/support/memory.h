// Which values of a graph may share memory, and where it is written.
//
// Values that may share memory are of one region, whichever way they came to share it (B. Steensgaard,
// Points-to Analysis in Almost Linear Time, POPL 1996).  Different inputs of a graph share none: torch.export
// and torch.compile take that for granted too.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph_collection.h"
#include "passes/support/effects.h"

namespace fxtrace {

// Of the graph as it is; whoever changes it may go on to ask about nodes that are still there.
class Memory {
 public:
  Memory(const ModuleGraph& graph, Semantics& semantics);

  bool knows(NodeId node) const { return node.index < region_of_.size(); }  // it was there
  // False for numbers, text and None: nothing can change these.
  bool has_memory(NodeId value) const { return region_of_[value.index] != kNone; }
  bool same_region(NodeId a, NodeId b) const;
  // Its number; has_memory() must hold.
  std::size_t region_number(NodeId value) const;
  std::size_t nodes() const { return region_of_.size(); }  // more than all ids
  std::size_t regions() const { return regions_.size(); }
  std::size_t position(NodeId node) const { return position_[node.index]; }
  // An input of the graph, a parameter, buffer or constant, or what may share memory with one.
  bool is_from_outside(NodeId value) const;
  // The graph gives it to its caller.
  bool is_given_back(NodeId value) const;
  bool is_written(NodeId value) const { return !writes(value).all.empty(); }
  bool is_written_after(NodeId value, NodeId node) const {
    return writes_before(value, node) != writes(value).all.size();
  }
  bool changes_shape(NodeId value) const;  // in place: unsqueeze_, resize_
  // How often it was written when `node` runs.
  std::size_t writes_before(NodeId value, NodeId node) const;
  // The same of its sizes.
  std::size_t shape_changes_before(NodeId value, NodeId node) const;
  // From now on `value` is what stands for `copy`, which nobody writes any more.
  void replace_copy(NodeId copy, NodeId value);

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  struct Writes {
    std::vector<std::uint32_t> all, shape_changes;  // positions, in order
  };
  struct Region {
    std::uint32_t part_of = kNone;  // the region that stands for this one too
    std::uint32_t writes = kNone;   // place in writes_; most regions are never written
    bool from_outside = false, given_back = false;
  };

  std::uint32_t find(std::uint32_t index);
  void unite(NodeId a, NodeId b);
  const Region* region(NodeId value) const;
  const Writes& writes(NodeId value) const;

  std::vector<std::uint32_t> parent_;     // by node, while regions are being found
  std::vector<std::uint32_t> region_of_;  // by node
  std::vector<std::uint32_t> position_;   // by node
  std::vector<Region> regions_;
  std::vector<Writes> writes_;
};

}  // namespace fxtrace
