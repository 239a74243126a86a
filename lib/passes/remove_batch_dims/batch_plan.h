// The plan for a function under torch.vmap: its values and calls for all samples at once.
//
// torch.vmap runs a function that is written for one sample on a batch.  In a graph, _add_batch_dim takes the
// batch dimension away from a tensor at the start of the function, and _remove_batch_dim puts it back at the
// end; nodes in between have the shapes of one sample.  The pass gives them the batch dimensions instead.
// As some operators cannot be batched, the pass first plans the whole function, and then applies all of the
// plan or nothing.
//
// Invariants:
// 1. The graph does not change before commit().  What cannot be batched throws CannotBatch while it is
//    planned; commit() decides nothing.
// 2. A level is one call of torch.vmap.  Levels are numbered as they are opened: in a list of levels, numbers
//    ascend, and the outermost comes first.
// 3. A value for all samples (Batched) has one dimension for each of its levels, in order and in front, then
//    those of a sample.  It lists only the levels over which it varies: a value that is the same for all
//    samples of a level has no dimension for it.  `sample` is the metadata of one sample; meta_of_all() gives
//    that of the whole tensor.
// 4. A node outside of the function is its own value, without levels.
// 5. A planned call has a provisional id from 2^31 upwards until commit().  Its arguments are nodes of the
//    graph and calls planned earlier.  Calls are inserted before the node that they are planned for, in the
//    order of planning.
// 6. If the call that gives a node its value is the last one planned, and has the node's target, the node
//    itself is kept with new arguments, and so is its name.  Every other node with a value is replaced by the
//    node of its value.
//
// Example: an outer product by nested calls, of %x: float32[3] and %y: float32[5]
//
//   node of the graph                              its value: {tensor, levels, shape of a sample}
//   _vmap_increment_nesting(3)                     opens level 0
//   %a = _add_batch_dim(%x, 0, 1) -> []            {%x, [0], []}
//   _vmap_increment_nesting(5)                     opens level 1
//   %b = _add_batch_dim(%y, 0, 2) -> []            {%y, [1], []}
//   %mul = mul(%a, %b) -> []                       align() plans unsqueeze(%x, 1) -> [3, 1] for %a; %y
//                                                  broadcasts as it is: {%mul, [0, 1], []}
//   %r = _remove_batch_dim(%mul, 2, 5, 0) -> [5]   {%mul, [0], [5]}
//   %s = _remove_batch_dim(%r, 1, 3, 0) -> [3, 5]  {%mul, [], [3, 5]}
//
// After commit(): %unsqueeze = unsqueeze(%x, 1); %mul = mul(%unsqueeze, %y) -> float32[3, 5].
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/graph_collection.h"

namespace fxtrace::internal {

// Thrown while planning: the reason why the function stays as it is.
struct CannotBatch {
  std::string reason;
};

using Shape = std::vector<Meta::Dim>;
// Returns the shape; throws CannotBatch when it is unknown.
const Shape& shape_of(const Meta& meta);

using LevelNumber = std::size_t;
// Levels of nested calls of torch.vmap, the outermost first.
using Levels = std::vector<LevelNumber>;

// A value of the function for all samples at once (invariant 3).
struct Batched {
  NodeId tensor;
  Levels levels;  // the levels over which it varies; empty when it is the same for all samples
  Meta sample;

  const Shape& shape() const { return shape_of(sample); }
  std::size_t rank() const { return shape().size(); }
};

class BatchPlan {
 public:
  // New calls around a leaf module get the scope of the node `caller`.
  BatchPlan(const Graph& graph, NodeId caller) : graph_(graph), caller_(caller) {}

  // --- levels ---
  LevelNumber add_level(Argument size);
  const Argument& size_of(LevelNumber level) const { return levels_[level].size; }
  Argument::List sizes_of(const Levels& levels) const;
  Expression extent_of(LevelNumber level) const { return levels_[level].extent; }

  // --- values ---
  // Returns the node's value; the node itself when it is not part of the function.
  Batched value(NodeId node) const;
  // Sets the node's value (invariant 6).
  void set(const Node& node, Batched value);
  bool is_batched(NodeId node) const;
  // Returns the metadata of the tensor that holds all samples.
  Meta meta_of_all(const Levels& levels, const Meta& sample) const;

  // --- nodes ---
  struct Call {
    std::string target;
    std::vector<Argument> args;
    Kwargs kwargs = {};
  };
  // Plans a call at the place of `at`; when `at` calls a leaf and has the same target, a call of that leaf.
  NodeId emit(const Node& at, Call call, Meta meta);
  Batched emit(const Node& at, Call call, Levels levels, Meta sample);

  // --- the dimensions of the batch ---
  // Returns the union of the values' levels.
  static Levels common_levels(const std::vector<Batched>& values);
  // Inserts dimensions of size 1, so that the value broadcasts against values of these levels and this rank.
  NodeId align(const Node& at, const Batched& value, const Levels& levels, std::size_t rank);
  // Does the same and expands the value over all dimensions of these levels.
  NodeId spread(const Node& at, const Batched& value, const Levels& levels, std::size_t rank);

  // Applies the plan to the graph.
  void commit(ModuleGraph& graph);

 private:
  struct Level {
    Argument size;
    Expression extent;
  };
  struct Step {
    NodeId at;
    bool replaces_arguments = false;  // the call replaces the arguments of `at`; otherwise it is a new node
    Call call;
    Meta meta;
  };
  // Ids of planned nodes start here until they are inserted into the graph.
  static constexpr std::uint32_t kPlanned = std::uint32_t{1} << 31;
  const Batched* find_batched(NodeId node) const;
  static NodeId planned(std::size_t step) { return {kPlanned + static_cast<std::uint32_t>(step)}; }

  const Graph& graph_;
  NodeId caller_;
  std::vector<Level> levels_;
  std::unordered_map<std::uint32_t, Batched> values_;  // by node
  std::vector<Step> steps_;
  std::vector<NodeId> replaced_;  // nodes that commit() replaces by others
};

}  // namespace fxtrace::internal
