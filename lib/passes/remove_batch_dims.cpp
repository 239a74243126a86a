// The pass remove-batch-dims: finds the calls of torch.vmap in a graph and plans each outermost one, with
// those nested in it, by a BatchPlan (remove_batch_dims/batch_plan.h).
#include "passes/pass.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <ranges>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/alias_regions.h"
#include "graph/rewrite.h"
#include "operators/names/modules.h"
#include "opinfo/batching.h"
#include "opinfo/traits.h"
#include "passes/remove_batch_dims/batch_call.h"
#include "passes/remove_batch_dims/batch_plan.h"
#include "passes/remove_batch_dims/batch_rules.h"

namespace fxtrace::internal {
namespace {

std::int64_t integer(const Node& node, std::size_t place) {
  const auto* number = place < node.args.size() ? node.args[place].get_if<std::int64_t>() : nullptr;
  if (number == nullptr) throw CannotBatch{"an argument of " + node.name + " is not known"};
  return *number;
}

NodeId tensor(const Node& node) {
  const auto* id = node.args.empty() ? nullptr : node.args.front().get_if<NodeId>();
  if (id == nullptr) throw CannotBatch{node.name + " has no tensor as its first argument"};
  return *id;
}

VmapFunction function_of(const Graph& graph, NodeId id) { return vmap_function(graph.node(id).target); }

auto calls(const Graph& graph, VmapFunction function) {
  return [&graph, function](NodeId id) { return function_of(graph, id) == function; };
}

// One outermost call of vmap with those that are nested in it.
class Region {
 public:
  Region(const ModuleGraph& graph, Semantics& semantics, const std::vector<NodeId>& nodes)
      : graph_(graph), semantics_(semantics), plan_(graph.graph, nodes.front()), nodes_(nodes) {}

  // Throws CannotBatch.
  BatchPlan& plan() {
    if (function_of(graph_.graph, nodes_.front()) != VmapFunction::kOpen) find_sizes();
    for (const NodeId id : nodes_) visit(graph_.graph.node(id));
    for (const NodeId id : nodes_) check_users(graph_.graph.node(id));
    if (!writes_.empty()) check_writes();
    return plan_;
  }

 private:
  struct OpenLevel {
    LevelNumber number;
    std::optional<std::int64_t> said;  // its number in the graph, once a node gives it
    bool is_ending = false;            // see open_and_close()
  };

  void visit(const Node& node) {
    const VmapFunction function = vmap_function(node.target);
    switch (function) {
      case VmapFunction::kOpen:
        if (node.args.empty()) throw CannotBatch{node.name + " has no size"};
        open_.push_back({plan_.add_level(node.args.front()), std::nullopt});
        return;
      case VmapFunction::kClose:
        return open_.pop_back();
      case VmapFunction::kLoad:
        return;
      case VmapFunction::kAdd:
      case VmapFunction::kRemove:
        if (!sizes_.empty()) open_and_close(node);
        return function == VmapFunction::kAdd ? add(node) : remove(node);
      case VmapFunction::kNone:
        return call(node);
    }
  }

  void check_users(const Node& node) const {
    const VmapFunction function = vmap_function(node.target);
    const bool goes = function == VmapFunction::kOpen || function == VmapFunction::kClose;
    const auto is_outside = [&](NodeId user) { return graph_.graph.is_before(nodes_.back(), user); };
    if ((goes && !node.users.empty()) ||
        (plan_.is_batched(node.id) && std::ranges::any_of(node.users, is_outside))) {
      throw CannotBatch{node.name + " is used outside of torch.vmap"};
    }
  }

  // --- the ends of a vmap ---

  // Returns the innermost open vmap, which must have this number in the graph.
  LevelNumber innermost(std::int64_t said) {
    OpenLevel& level = open_.back();
    if (!level.said) level.said = said;
    if (level.said != said) throw CannotBatch{"a call of torch.vmap has several level numbers"};
    return level.number;
  }

  // Bodies of control flow have lost the calls that open and close a vmap.  A vmap begins at its first
  // _add_batch_dim; it has ended when an _add_batch_dim follows its _remove_batch_dim.
  void open_and_close(const Node& node) {
    const bool adds = vmap_function(node.target) == VmapFunction::kAdd;
    const std::int64_t said = integer(node, adds ? 2 : 1);
    const auto is_over = [&](const OpenLevel& level) {
      return level.said > said || (adds && level.said == said && level.is_ending);
    };
    while (!open_.empty() && is_over(open_.back())) open_.pop_back();
    if (adds && (open_.empty() || open_.back().said != said)) {
      open_.push_back({plan_.add_level(sizes_.at(node.id.index)), said});
    }
    if (open_.empty()) throw CannotBatch{"no call opens the level"};
    open_.back().is_ending = !adds;
  }
  // Finds the batch size for each _add_batch_dim of a body: that of the next _remove_batch_dim of the same
  // number.
  void find_sizes() {
    std::map<std::int64_t, Argument> sizes;  // by the number in the graph
    for (const NodeId id : nodes_ | std::views::reverse) {
      const Node& node = graph_.graph.node(id);
      const VmapFunction function = vmap_function(node.target);
      if (function == VmapFunction::kRemove && node.args.size() > 2) sizes[integer(node, 1)] = node.args[2];
      if (function != VmapFunction::kAdd) continue;
      const Argument& size = sizes_[id.index] = sizes[integer(node, 2)];
      const auto* given = size.get_if<NodeId>();
      if (given != nullptr && !graph_.graph.is_before(*given, id))
        throw CannotBatch{"the size of the batch is computed after its first use"};
    }
  }

  void add(const Node& node) {
    const Batched value = value_of(tensor(node));
    const LevelNumber level = innermost(integer(node, 2));
    const auto rank = static_cast<std::int64_t>(value.rank());
    std::int64_t dim = integer(node, 1);
    if (dim < 0) dim += rank;
    if (dim < 0 || dim >= rank || has_level(value, level)) {
      throw CannotBatch{node.name + " takes a dimension that the tensor does not have"};
    }
    Meta sample = value.sample;
    const Meta::Dim size = value.shape()[static_cast<std::size_t>(dim)];
    sample.shape->erase(sample.shape->begin() + dim);
    const auto front = static_cast<std::int64_t>(value.levels.size());
    if (size != plan_.extent_of(level)) {
      if (size.number() != 1)
        throw CannotBatch{"a size of " + node.name + " differs from the size of the batch"};
      // A batch of one sample is the same for all.
      return plan_.set(node, plan_.emit(node, {"aten.squeeze.dim", {value.tensor, front + dim}}, value.levels,
                                        std::move(sample)));
    }
    Levels levels = value.levels;
    levels.push_back(level);
    if (dim == 0) return plan_.set(node, {value.tensor, std::move(levels), std::move(sample)});
    plan_.set(node, plan_.emit(node, {"aten.movedim.int", {value.tensor, front + dim, front}},
                               std::move(levels), std::move(sample)));
  }
  static bool has_level(const Batched& value, LevelNumber level) {
    return !value.levels.empty() && value.levels.back() == level;
  }

  void remove(const Node& node) {
    Batched value = value_of(tensor(node));
    const LevelNumber level = innermost(integer(node, 1));
    const auto rank = static_cast<std::int64_t>(value.rank());
    std::int64_t dim = integer(node, 3);
    if (dim < 0) dim += rank + 1;
    if (known_size(graph_.graph, node.args[2]) != plan_.extent_of(level) || dim < 0 || dim > rank) {
      throw CannotBatch{node.name + " has another batch size, or a dimension that the tensor does not have"};
    }
    if (!has_level(value, level)) return plan_.set(node, repeated(node, value, level, dim));
    value.levels.pop_back();
    const auto front = static_cast<std::int64_t>(value.levels.size());
    if (dim != 0) {
      return plan_.set(node, plan_.emit(node, {"aten.movedim.int", {value.tensor, front, front + dim}},
                                        value.levels, node.meta));
    }
    plan_.set(node, {value.tensor, value.levels, node.meta});
  }

  // Returns a value that is the same for all samples, expanded over the level.  torch expands it to its own
  // sizes with the size of the batch inserted at `dim`.
  Batched repeated(const Node& node, const Batched& value, LevelNumber level, std::int64_t dim) {
    const auto front = static_cast<std::int64_t>(value.levels.size());
    Meta meta = value.sample;
    meta.shape->insert(meta.shape->begin(), Meta::Dim(1));
    Batched one =
        plan_.emit(node, {"aten.unsqueeze.default", {value.tensor, front}}, value.levels, std::move(meta));
    if (dim == 0 && plan_.extent_of(level).number() == 1) return one;
    Argument::List sizes;
    sizes.items.resize(value.levels.size(), -1);
    for (std::size_t i = 0; i < static_cast<std::size_t>(dim); ++i) {
      const auto size = value.shape()[i].number();
      if (!size) throw CannotBatch{"a size of " + node.name + " is not known"};
      sizes.items.emplace_back(*size);
    }
    sizes.items.push_back(plan_.size_of(level));
    sizes.items.resize(value.levels.size() + value.rank() + 1, -1);
    return plan_.emit(node, {"aten.expand.default", {one.tensor, std::move(sizes)}}, value.levels, node.meta);
  }

  // --- calls in between ---

  Batched value_of(NodeId id) const {
    Batched value = plan_.value(id);
    for (const LevelNumber level : value.levels) {
      if (std::ranges::find(open_, level, &OpenLevel::number) == open_.end()) {
        throw CannotBatch{graph_.graph.node(id).name + " is used outside of torch.vmap"};
      }
    }
    return value;
  }

  void call(const Node& node) {
    bool is_batched = false;
    for_each_input(node, [&](NodeId input) { is_batched = !value_of(input).levels.empty() || is_batched; });
    const Effects effects = semantics_.effects(graph_, node);
    if (effects.is_random) throw CannotBatch{node.name + " draws random numbers"};
    if (effects.is_unknown) throw CannotBatch{"unknown effects of " + node.name};
    if (!is_batched) return;
    if (node.op == Opcode::kCallModule) return leaf(node);
    for (const NodeId written : effects.written) writes_.emplace_back(node.id, written);
    if (node.target == "operator.getitem" && node.args.size() == 2) {
      const Batched list = plan_.value(tensor(node));
      if (list.sample.kind() == ValueKind::kTensor) {
        throw CannotBatch{"there is no rule for " + *node.target + " of a tensor over a batch"};
      }
      return plan_.set(node,
                       plan_.emit(node, {node.target, {list.tensor, node.args[1]}}, list.levels, node.meta));
    }
    const OperatorEntry* info = semantics_.find_operator(node.target);
    if (info == nullptr) throw CannotBatch{"there is no rule for " + *node.target + " over a batch"};
    const auto& arguments = info->schema.arguments;
    if (!effects.written.empty() && std::ranges::none_of(arguments, &SchemaArgument::is_written)) {
      throw CannotBatch{node.name + " writes to its arguments"};  // batch_norm in training
    }
    batch_operator(node, *info, semantics_, plan_);
  }

  // reshape() and contiguous() return a view or a copy depending on the layout of all samples, which differs
  // from the layout of one.  Throws if a result of such a call shares a region with memory that is written:
  // the write might reach the original for the batch and not for one sample, or the other way round.
  void check_writes() const {
    const AliasRegions memory(graph_, semantics_);
    for (const NodeId id : nodes_) {
      const Node& node = graph_.graph.node(id);
      if (!plan_.is_batched(id) || !memory.has_memory(id) || !depends_on_layout(node)) continue;
      for (const auto& [writer, written] : writes_) {
        if (!memory.same_region(id, written)) continue;
        throw CannotBatch{graph_.graph.node(writer).name + " writes memory that " + node.name +
                          " may share, or have copied"};
      }
    }
  }
  bool depends_on_layout(const Node& node) const {
    const OperatorEntry* info = semantics_.find_operator(node.target);
    if (info == nullptr || may_write(info->row) || semantics_.effects(graph_, node).shared.empty())
      return false;
    const When when = info->identity.when;
    if (when == When::kSameType || when == When::kSameTypeAsOther || when == When::kEvaluation) return false;
    return std::ranges::any_of(info->aliases,
                               [](const Alias& alias) { return !alias.always || alias.may_be_same; });
  }

  // Plans a call of a leaf module.  An in-place write of it then writes all samples.
  void leaf(const Node& node) {
    const ModuleTraits traits = traits_of_module(node.scope->module_type.value_or(""));
    const std::size_t spatial = spatial_dimensions(traits);
    const bool has_one = node.args.size() == 1 && node.kwargs.empty();
    const bool has_rule = (traits & module_traits::kAnyRank) != 0 || spatial > 0;
    if (!has_rule || !has_one) {
      throw CannotBatch{"there is no rule for the leaf " + node.name + " over a batch"};
    }
    const Batched value = plan_.value(tensor(node));
    // A sample without a dimension of rows (N) takes one level as its rows.
    const bool has_rows = spatial > 0 && (value.rank() != spatial + 1 || value.levels.size() > 1);
    if (!has_rows) {
      return plan_.set(node, plan_.emit(node, {node.target, {value.tensor}}, value.levels, node.meta));
    }
    if (value.rank() != spatial + 2)
      throw CannotBatch{"the leaf " + node.name + " expects an input [N, C, ...]"};
    BatchSteps steps(node, plan_);
    const NodeId rows = steps.rows(value, value.levels.size() + 1);
    const NodeId all = plan_.emit(node, {node.target, {rows}}, steps.joined_meta(value.levels, node.meta, 0));
    plan_.set(node, steps.parted(all, value.levels, node.meta, 0));
  }

  const ModuleGraph& graph_;
  Semantics& semantics_;
  BatchPlan plan_;
  const std::vector<NodeId>& nodes_;
  std::vector<OpenLevel> open_;                    // the outermost first
  std::vector<std::pair<NodeId, NodeId>> writes_;  // nodes that write all samples, and the written values
  // The batch sizes by _add_batch_dim node; empty in graphs with the calls that open and close levels.
  std::unordered_map<std::uint32_t, Argument> sizes_;
};

class RemoveBatchDims {
 public:
  RemoveBatchDims(ModuleGraph& graph, PassContext& context) : graph_(graph), context_(context) {}

  void run() {
    const std::vector<NodeId> order = graph_.graph.order();
    std::vector<NodeId> loads;
    std::ranges::copy_if(order, std::back_inserter(loads), [&](NodeId id) {
      return function_of(graph_.graph, id) == VmapFunction::kLoad && graph_.graph.node(id).users.empty();
    });
    const bool are_opened = std::ranges::any_of(order, calls(graph_.graph, VmapFunction::kOpen));
    const bool all = are_opened ? run_calls(order) : run_body(order);
    if (all) ends_.insert(ends_.end(), loads.begin(), loads.end());
    erase_nodes(graph_, ends_);
  }

 private:
  // Removes each outermost vmap; returns whether all were removed.
  bool run_calls(const std::vector<NodeId>& order) {
    std::size_t depth = 0;
    bool all = true;
    std::vector<NodeId> region;
    for (const NodeId id : order) {
      const VmapFunction function = function_of(graph_.graph, id);
      if (function == VmapFunction::kOpen) ++depth;
      if (depth == 0) continue;
      region.push_back(id);
      if (function == VmapFunction::kClose) --depth;
      if (depth > 0) continue;
      all = remove(region) && all;
      region.clear();
    }
    if (!region.empty()) decline(region, "the call of torch.vmap does not end");
    return all && region.empty();
  }
  // Does the same for a body of control flow, in which no call opens a vmap: all of it is one region.
  bool run_body(const std::vector<NodeId>& order) {
    const auto first = std::ranges::find_if(order, calls(graph_.graph, VmapFunction::kAdd));
    const auto last =
        std::ranges::find_if(order | std::views::reverse, calls(graph_.graph, VmapFunction::kRemove)).base();
    return first >= last || remove({first, last});
  }

  bool remove(const std::vector<NodeId>& region) {
    std::vector<NodeId> ends;
    std::ranges::copy_if(region, std::back_inserter(ends), calls(graph_.graph, VmapFunction::kOpen));
    std::ranges::copy_if(region, std::back_inserter(ends), calls(graph_.graph, VmapFunction::kClose));
    try {
      Region(graph_, context_.semantics, region).plan().commit(graph_);
    } catch (const CannotBatch& cannot) {
      decline(region, cannot.reason);
      return false;
    } catch (const SymbolicError& error) {
      decline(region, error.what());
      return false;
    }
    ends_.insert(ends_.end(), ends.begin(), ends.end());
    return true;
  }
  void decline(const std::vector<NodeId>& region, std::string reason) {
    context_.decline(graph_, graph_.graph.node(region.front()), std::move(reason));
  }

  ModuleGraph& graph_;
  PassContext& context_;
  std::vector<NodeId> ends_;  // the calls that open and close removed vmaps
};

}  // namespace

void remove_batch_dims(ModuleGraph& graph, PassContext& context) {
  context.for_each_graph(graph, [&](ModuleGraph& each) { RemoveBatchDims(each, context).run(); });
}

}  // namespace fxtrace::internal
