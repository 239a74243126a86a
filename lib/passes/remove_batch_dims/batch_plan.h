// The plan for the nodes of a vmapped function, made before the graph is changed: either all of them can be
// batched, or none is touched.
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

namespace fxtrace {

// Thrown while planning: the reason for which the nodes stay as they are.
struct CannotBatch {
  std::string reason;
};

using Shape = std::vector<Meta::Dim>;
// Returns the shape; throws CannotBatch when it is unknown.
const Shape& shape_of(const Meta& meta);

using LevelNumber = std::size_t;
// Levels of nested calls of torch.vmap, the outermost first.
using Levels = std::vector<LevelNumber>;

// A value of the function for all samples at once.  `tensor` has one dimension for each level, in order, then
// those of a sample.
struct Batched {
  NodeId tensor;
  Levels levels;  // over which it varies; empty when it is the same for all samples
  Meta sample;

  const Shape& shape() const { return shape_of(sample); }
  std::size_t rank() const { return shape().size(); }
};

class BatchPlan {
 public:
  // New calls around a leaf get the scope of the node `caller`.
  BatchPlan(const Graph& graph, NodeId caller) : graph_(graph), caller_(caller) {}

  // --- levels ---
  LevelNumber add_level(Argument size);
  const Argument& size_of(LevelNumber level) const { return levels_[level].size; }
  Argument::List sizes_of(const Levels& levels) const;
  Expression extent_of(LevelNumber level) const { return levels_[level].extent; }

  // --- values ---
  // Returns what the node has become; the node itself when it is not part of the function.
  Batched value(NodeId node) const;
  // Sets what the node becomes.  The node is kept when the value is a planned call of the same target.
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
  // Inserts dimensions of size 1, so that the value broadcasts against values of those levels and that rank.
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
    bool replaces_arguments = false;  // it replaces those of `at`; otherwise it is a new node
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
  std::vector<NodeId> replaced_;  // to be replaced by other nodes
};

}  // namespace fxtrace
