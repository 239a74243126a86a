#include "passes/remove_batch_dims/batch_plan.h"

#include <algorithm>
#include <iterator>

#include "graph/rewrite.h"

namespace fxtrace::internal {

const Shape& shape_of(const Meta& meta) {
  if (!meta.shape) throw CannotBatch{"the shape of a value is not known"};
  return *meta.shape;
}

LevelNumber BatchPlan::add_level(Argument size) {
  const auto extent = known_size(graph_, size);
  if (!extent) throw CannotBatch{"the size of the batch is not known"};
  levels_.push_back({std::move(size), *extent});
  return levels_.size() - 1;
}

Argument::List BatchPlan::sizes_of(const Levels& levels) const {
  Argument::List sizes;
  for (const LevelNumber level : levels) sizes.items.push_back(size_of(level));
  return sizes;
}

Batched BatchPlan::value(NodeId node) const {
  const Batched* found = find_batched(node);
  return found != nullptr ? *found : Batched{node, {}, graph_.node(node).meta};
}

const Batched* BatchPlan::find_batched(NodeId node) const {
  const auto found = values_.find(node.index);
  return found == values_.end() ? nullptr : &found->second;
}

void BatchPlan::set(const Node& node, Batched value) {
  if (!steps_.empty() && value.tensor == planned(steps_.size() - 1) && steps_.back().at == node.id &&
      node.target == steps_.back().call.target) {
    steps_.back().replaces_arguments = true;
    value.tensor = node.id;
  }
  if (value.tensor != node.id) replaced_.push_back(node.id);
  values_.insert_or_assign(node.id.index, std::move(value));
}

bool BatchPlan::is_batched(NodeId node) const {
  const Batched* found = find_batched(node);
  return found != nullptr && !found->levels.empty();
}

Meta BatchPlan::meta_of_all(const Levels& levels, const Meta& sample) const {
  Meta meta = sample;
  if (!meta.shape) return meta;
  Shape shape;
  for (const LevelNumber level : levels) shape.push_back(extent_of(level));
  shape.insert(shape.end(), sample.shape->begin(), sample.shape->end());
  meta.shape = std::move(shape);
  return meta;
}

NodeId BatchPlan::emit(const Node& at, Call call, Meta meta) {
  steps_.push_back({at.id, false, std::move(call), std::move(meta)});
  return planned(steps_.size() - 1);
}

Batched BatchPlan::emit(const Node& at, Call call, Levels levels, Meta sample) {
  const NodeId tensor = emit(at, std::move(call), meta_of_all(levels, sample));
  return {tensor, std::move(levels), std::move(sample)};
}

Levels BatchPlan::common_levels(const std::vector<Batched>& values) {
  Levels all;
  for (const Batched& value : values) {
    Levels both;
    std::ranges::set_union(all, value.levels, std::back_inserter(both));
    all = std::move(both);
  }
  return all;
}

NodeId BatchPlan::align(const Node& at, const Batched& value, const Levels& levels, std::size_t rank) {
  if (value.levels.empty()) return value.tensor;
  NodeId tensor = value.tensor;
  Meta meta = meta_of_all(value.levels, value.sample);
  std::int64_t dim = 0;
  const auto insert = [&] {
    meta.shape->insert(meta.shape->begin() + dim, Meta::Dim(1));
    tensor = emit(at, {"aten.unsqueeze.default", {tensor, dim}}, meta);
    ++dim;
  };
  // Broadcasting adds the dimensions in front of its first level by itself.
  for (auto level = std::ranges::find(levels, value.levels.front()); level != levels.end(); ++level) {
    std::ranges::binary_search(value.levels, *level) ? void(++dim) : insert();
  }
  for (std::size_t more = value.rank(); more < rank; ++more) insert();
  return tensor;
}

NodeId BatchPlan::spread(const Node& at, const Batched& value, const Levels& levels, std::size_t rank) {
  const NodeId aligned = align(at, value, levels, rank);
  if (value.levels == levels) return aligned;
  Argument::List sizes;
  for (const LevelNumber level : levels) {
    sizes.items.push_back(std::ranges::binary_search(value.levels, level) ? Argument(-1) : size_of(level));
  }
  sizes.items.resize(levels.size() + rank - value.rank(), 1);
  sizes.items.resize(levels.size() + rank, -1);
  Meta meta = value.sample;
  meta.shape->insert(meta.shape->begin(), rank - value.rank(), Meta::Dim(1));
  return emit(at, {"aten.expand.default", {aligned, std::move(sizes)}}, meta_of_all(levels, meta));
}

void BatchPlan::commit(ModuleGraph& graph) {
  std::vector<NodeId> made(steps_.size());
  Cost unsized;  // of a leaf
  unsized.unsized = 1;
  const auto real = [&](NodeId id) { return id.index < kPlanned ? id : made[id.index - kPlanned]; };
  const auto real_argument = [&](NodeId id) -> Argument { return real(id); };
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    Step& step = steps_[i];
    for (Argument& argument : step.call.args) argument = map_references(argument, real_argument);
    for (auto& [name, argument] : step.call.kwargs) {
      argument = map_references(argument, real_argument);
    }
    if (step.replaces_arguments) {
      graph.graph.set_args(step.at, std::move(step.call.args), std::move(step.call.kwargs));
      graph.graph.meta(step.at) = std::move(step.meta);
      // The cost was that of one sample.
      const bool is_leaf = graph.graph.node(step.at).op == Opcode::kCallModule;
      graph.graph.set_cost(step.at, is_leaf ? std::optional(unsized) : std::nullopt);
    } else {
      const Node& at = graph.graph.node(step.at);
      const bool is_leaf = at.op == Opcode::kCallModule && step.call.target == at.target;
      Graph::NodeSpec spec;
      if (is_leaf) {
        spec = spec_like(at);
        spec.name.clear();
        spec.cost = std::optional(unsized);  // that of one sample
      } else {
        spec.op = Opcode::kCallFunction;
        spec.target = std::move(step.call.target);
        spec.scope = at.op == Opcode::kCallModule ? graph.graph.node(caller_).scope : at.scope;
        spec.source = at.source;
      }
      spec.args = std::move(step.call.args);
      spec.kwargs = std::move(step.call.kwargs);
      spec.meta = std::move(step.meta);
      made[i] = graph.graph.insert_before(step.at, std::move(spec));
    }
  }
  for (const NodeId node : replaced_) replace_node(graph, node, real(values_.at(node.index).tensor));
}

}  // namespace fxtrace::internal
