// What the nodes of a vmapped function become, worked out before the graph changes: all of them can be done
// for the whole batch, or none is touched.
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

// Thrown by whoever plans: why the nodes stay as they are.
struct CannotBatch {
  std::string reason;
};

using Shape = std::vector<Meta::Dim>;
// CannotBatch when it is not known.
const Shape& shape_of(const Meta& meta);

using LevelNumber = std::size_t;
// Of several nested calls of torch.vmap, the outermost first.
using Levels = std::vector<LevelNumber>;

// A value of the function, for all samples at once.  `tensor` has the dimensions of its levels in their
// order, then those of one sample.
struct Batched {
  NodeId tensor;
  Levels levels;  // in which it differs from sample to sample; none: it is the same for all
  Meta sample;

  const Shape& shape() const { return shape_of(sample); }
  std::size_t rank() const { return shape().size(); }
};

class BatchPlan {
 public:
  // `caller` has the scope of what stands around leaves.
  BatchPlan(const Graph& graph, NodeId caller) : graph_(graph), caller_(caller) {}

  // --- levels ---
  LevelNumber add_level(Argument size);
  const Argument& size_of(LevelNumber level) const { return levels_[level].size; }
  Argument::List sizes_of(const Levels& levels) const;
  Expression extent_of(LevelNumber level) const { return levels_[level].extent; }

  // --- values ---
  // What the node has become: itself where it is none of the function's.
  Batched value(NodeId node) const;
  // `node` itself stays where the value is a call of the same target that was planned for it.
  void set(const Node& node, Batched value);
  bool is_batched(NodeId node) const;
  // What is known of the tensor that holds all samples.
  Meta meta_of_all(const Levels& levels, const Meta& sample) const;

  // --- nodes ---
  struct Call {
    std::string target;
    std::vector<Argument> args;
    Kwargs kwargs = {};
  };
  // A call where `at` is; of the same leaf when `at` calls one and that is the target.
  NodeId emit(const Node& at, Call call, Meta meta);
  Batched emit(const Node& at, Call call, Levels levels, Meta sample);

  // --- the dimensions of the batch ---
  // The union.
  static Levels common_levels(const std::vector<Batched>& values);
  // With dimensions of size 1 so that it is broadcast with values of those levels and that rank.
  NodeId align(const Node& at, const Batched& value, const Levels& levels, std::size_t rank);
  // With all dimensions of these levels.
  NodeId spread(const Node& at, const Batched& value, const Levels& levels, std::size_t rank);

  // Changes the graph: what nodes have become takes their place.
  void commit(ModuleGraph& graph);

 private:
  struct Level {
    Argument size;
    Expression extent;
  };
  struct Step {
    NodeId at;
    bool replaces_arguments = false;  // of `at`; else it is a new node
    Call call;
    Meta meta;
  };
  // New nodes have numbers from here until they are in the graph.
  static constexpr std::uint32_t kPlanned = std::uint32_t{1} << 31;
  const Batched* find(NodeId node) const;
  static NodeId planned(std::size_t step) { return {kPlanned + static_cast<std::uint32_t>(step)}; }

  const Graph& graph_;
  NodeId caller_;
  std::vector<Level> levels_;
  std::unordered_map<std::uint32_t, Batched> values_;  // by node
  std::vector<Step> steps_;
  std::vector<NodeId> replaced_;  // by other nodes
};

}  // namespace fxtrace
