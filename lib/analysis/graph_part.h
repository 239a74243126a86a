// The nodes of a part of a graph, closed so that they compute the same by themselves (see extract/extract.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analysis/alias_regions.h"
#include "analysis/effects.h"
#include "graph/graph_collection.h"

namespace fxtrace::internal {

// Nodes are identified by their positions in the graph.  Placeholders and get_attr nodes are never members:
// members read them.
class GraphPart {
 public:
  GraphPart(const GraphCollection& collection, const ModuleGraph& graph);

  const std::vector<NodeId>& order() const { return order_; }
  std::size_t position(NodeId id) const { return memory_.position(id); }
  const Node& node(std::size_t position) const { return graph_.graph.node(order_[position]); }

  // Adds a member; `is_result`: its value leaves, whether it is used outside or not.
  void add(std::size_t position, bool is_result = false);
  // Adds the nodes that the members need to compute the same as in the whole graph, up to a fixed point.
  // Throws Error(kInput) when they cannot do so without the rest of the graph.
  void close();
  // Does the same for members that are a run of an order of execution of the whole graph
  // (partition/runs.h): adds only views of memory that they write to, and what makes devices, dtypes and
  // other plain values for them, which never leave.
  void close_run();

  bool is_member(std::size_t position) const { return members_[position]; }
  // Returns whether a get_attr node that a member uses must be read before the part, as other nodes write to
  // it earlier.
  bool is_read_before(std::size_t position) const { return read_before_[position]; }
  // Returns whether nodes before the part write to the placeholder.
  bool is_changed_before(std::size_t position) const { return written_before(position); }
  // Returns the values that leave, in order.
  std::vector<NodeId> results() const;

 private:
  static constexpr std::size_t kNone = SIZE_MAX;

  bool is_call(std::size_t position) const;
  void add_helper(std::size_t position);
  void add_between();
  void add_writers();
  void add_items();
  void add_modes();
  void add_random();
  void add_batched();
  void add_mutations();
  void add_views();
  void find_touches();
  void find_read_before();
  void add_plain_values();
  bool is_plain_value(std::size_t position) const;
  void check_state() const;
  bool written_before(std::size_t position) const;
  std::size_t region(NodeId value) const;  // kNone for values without memory
  std::vector<std::size_t> aliases() const;
  [[noreturn]] void refuse(const std::string& reason) const;

  const GraphCollection& collection_;
  const ModuleGraph& graph_;
  mutable Semantics semantics_;
  AliasRegions memory_;
  std::vector<NodeId> order_;
  // Indexed by position.
  std::vector<Effects> effects_;
  std::vector<std::vector<std::size_t>> writes_;  // the regions that the node writes to
  std::vector<bool> members_, helpers_, wanted_, read_before_;
  // Indexed by region: the first and the last member that uses it, and the first other node that writes to
  // it.
  std::vector<std::size_t> first_touch_, last_touch_, first_write_;
  bool changed_ = false;  // whether this turn of close() added a member
};

}  // namespace fxtrace::internal
