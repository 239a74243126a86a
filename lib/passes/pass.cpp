#include "passes/pass.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "analysis/view_tree.h"
#include "graph/analysis/collection_summary.h"
#include "graph/analysis/input_sizes.h"
#include "graph/analysis/text_form.h"
#include "graph/graph_collection.h"
#include "support/log.h"

namespace fxtrace::internal {
namespace {

constexpr Pass kPasses[] = {
    {"remove-batch-dims", "compute what torch.vmap does to one sample for the whole batch at once",
     remove_batch_dims},
    {"remove-inplace", "replace in-place writes by new values, also those through views and to inputs",
     remove_inplace},
    {"remove-noops",
     "drop operations that return their input: full slices, conversions to the same type, dropout in eval",
     remove_noops},
    {"fold-constants", "replace nodes that compute known numbers by the numbers", fold_constants},
    {"common-subexpressions", "compute equal expressions once", common_subexpressions},
    {"eliminate-dead-code", "drop nodes without users or effects, and checks that the guards contain",
     eliminate_dead_code},
    {"functional", "run all of them, in this order", nullptr},
};

PassReport run_one(const Pass& pass, GraphCollection& collection, PassContext& context) {
  const Timer timer;
  PassReport report{std::string(pass.name), static_cast<std::size_t>(summarize(collection).nodes), 0, {}, {}};
  context.semantics.forget_subgraphs();
  for (ModuleGraph& graph : collection.graphs) {
    // The file of an exported program fixes its inputs, so that no guards are needed.
    if (!collection.model.is_torchscript()) {
      pass.run(graph, context);
      continue;
    }
    bool is_first = true;
    run_with_guards(
        [&](ModuleGraph& each) {
          std::vector<Declined> declined = context.declined;
          context.semantics.forget_subgraphs();
          pass.run(each, context);
          if (!std::exchange(is_first, false)) context.declined = std::move(declined);
        },
        graph);
    context.semantics.forget_subgraphs();
  }
  report.nodes_after = static_cast<std::size_t>(summarize(collection).nodes);
  report.declined = std::exchange(context.declined, {});
  report.time = timer.milliseconds();
  return report;
}

std::size_t writes_that_stay(const ModuleGraph& graph, Semantics& semantics, bool is_subgraph) {
  const ViewTree tensors = ViewTree::build(graph, semantics, is_subgraph);
  const auto writes = [&](const ViewTree::Obstacle& obstacle) {
    return !semantics.effects(graph, graph.graph.node(obstacle.node)).is_unknown;
  };
  auto count = static_cast<std::size_t>(std::ranges::count_if(tensors.obstacles(), writes));
  for (const Subgraph& subgraph : graph.subgraphs) count += writes_that_stay(subgraph.graph, semantics, true);
  return count;
}

}  // namespace

void PassContext::decline(const ModuleGraph& graph, const Node& node, std::string reason) {
  std::string place = graph.module;
  for (const std::string& name : path_) place += "/" + name;
  declined.push_back({std::move(place), node.name, std::move(reason), node.source});
}

std::span<const Pass> passes() { return kPasses; }

const Pass* find_pass(std::string_view name) {
  const auto row = std::ranges::find(kPasses, name, &Pass::name);
  return row == std::end(kPasses) ? nullptr : row;
}

std::vector<PassReport> run_pass(const Pass& pass, GraphCollection& collection) {
  PassContext context(collection);
  if (pass.run != nullptr) return {run_one(pass, collection, context)};
  std::vector<PassReport> reports;
  for (const Pass& other : kPasses) {
    if (other.run != nullptr) reports.push_back(run_one(other, collection, context));
  }
  return reports;
}

std::size_t count_writes_that_stay(const GraphCollection& collection) {
  Semantics semantics(collection);
  std::size_t count = 0;
  for (const ModuleGraph& graph : collection.graphs) count += writes_that_stay(graph, semantics, false);
  return count;
}

namespace {

enum class Fact : std::uint8_t { kSizes, kDtype, kDevice };
using Facts = std::set<Fact>;
const Facts& all_facts() {
  static const Facts all{Fact::kSizes, Fact::kDtype, Fact::kDevice};
  return all;
}

bool is_stated(const Node& node) {
  return node.op == Opcode::kPlaceholder &&
         (node.meta->shape || (node.meta->value && !node.meta->value->number()));
}

void forget(const Node& node, Meta& meta, const Facts& facts) {
  if (facts.contains(Fact::kSizes)) {
    meta.shape.reset();
    meta.value.reset();
  }
  if (facts.contains(Fact::kDtype)) meta.set_dtype({});
  if (facts.contains(Fact::kDevice)) {
    // An empty device would mean the CPU for a tensor with a shape.
    meta.device = Device{.type = "unknown" + std::to_string(node.id.index)};
  }
}

// Returns the graph without the metadata that follows from these facts about its inputs.
ModuleGraph without(const ModuleGraph& graph, const Facts& facts) {
  ModuleGraph blind = graph;
  bool is_body = false;
  for_each_graph(blind, [&](ModuleGraph& each) {
    std::unordered_set<std::uint32_t> from_inputs;
    for (const NodeId id : each.graph.order()) {
      const Node& node = each.graph.node(id);
      bool depends = node.op == Opcode::kPlaceholder && (is_body || is_stated(node));
      for_each_input(node, [&](NodeId input) { depends = depends || from_inputs.contains(input.index); });
      if (!depends) continue;
      from_inputs.insert(id.index);
      Meta meta = *node.meta;
      forget(node, meta, facts);
      each.graph.meta(id) = std::move(meta);
    }
    is_body = true;
  });
  return blind;
}

// The text of each node, by graph and name.
using Nodes = std::map<std::pair<std::string, std::string>, std::string>;
void read(const ModuleGraph& graph, const std::string& place, Nodes& nodes) {
  for (const NodeId id : graph.graph.order()) {
    const Node& node = graph.graph.node(id);
    nodes.emplace(std::pair(place, node.name), print_node(graph.graph, node));
  }
  for (const Subgraph& body : graph.subgraphs) read(body.graph, place + "/" + body.name, nodes);
}
Nodes nodes_of(const ModuleGraph& graph) {
  Nodes nodes;
  read(graph, "", nodes);
  return nodes;
}

// Returns the inputs on which those nodes depend that differ between two results of a pass; all inputs if
// such nodes are in subgraphs.
std::vector<NodeId> inputs_of_difference(const ModuleGraph& before, const Nodes& one, const Nodes& other) {
  std::set<std::string> names;
  bool is_in_body = false;
  const auto compare = [&](const Nodes& these, const Nodes& those) {
    for (const auto& [place, text] : these) {
      const auto found = those.find(place);
      if (found != those.end() && found->second == text) continue;
      names.insert(place.second);
      is_in_body = is_in_body || !place.first.empty();
    }
  };
  compare(one, other);
  compare(other, one);
  std::vector<NodeId> inputs;
  std::unordered_set<std::uint32_t> wanted;
  std::vector<NodeId> order = before.graph.order();
  std::ranges::reverse(order);
  for (const NodeId id : order) {
    const Node& node = before.graph.node(id);
    if (is_in_body || names.contains(node.name)) wanted.insert(id.index);
    if (!wanted.contains(id.index)) continue;
    if (is_stated(node)) inputs.push_back(id);
    for_each_input(node, [&](NodeId input) { wanted.insert(input.index); });
  }
  std::ranges::reverse(inputs);
  return inputs;
}

void add_guards(const Graph& inputs, const std::vector<NodeId>& relied_on, const Facts& facts,
                ModuleGraph& graph) {
  const auto add = [&](Expression condition) {
    Guard guard{std::move(condition), std::nullopt, GuardReason::kInput, {}};
    const auto is_there = [&](const Guard& other) { return other.expr == guard.expr; };
    if (std::ranges::none_of(graph.guards, is_there)) graph.guards.push_back(std::move(guard));
  };
  const DimensionPlaces places(inputs);
  for (const NodeId id : relied_on) {
    const Meta& meta = *inputs.node(id).meta;
    const Expression name = Expression::name(input_name(inputs.node(id)));
    const auto is = [&](Expression question, Expression answer) {
      add(Expression::comparison("==", std::move(question), std::move(answer)));
    };
    if (facts.contains(Fact::kSizes) && meta.value) {
      for (Expression& condition : places.conditions(id, DimensionPlaces::kInteger))
        add(std::move(condition));
    }
    if (!meta.shape) continue;
    if (facts.contains(Fact::kSizes)) {
      is(Expression::method(name, "dim"), std::ssize(*meta.shape));
      for (std::size_t i = 0; i < meta.shape->size(); ++i) {
        const auto index = static_cast<std::int64_t>(i);
        const Expression& size = (*meta.shape)[i];
        if (size.number()) is(Expression::method(name, "size", {index}), size);
        for (Expression& condition : places.conditions(id, index)) add(std::move(condition));
      }
    }
    if (facts.contains(Fact::kDtype) && meta.dtype)
      is(Expression::attribute(name, "dtype"), Expression::variable("torch." + dtype_name(*meta.dtype)));
    if (facts.contains(Fact::kDevice)) {
      is(Expression::attribute(Expression::attribute(name, "device"), "type"),
         Expression::text_literal(meta.device_or_cpu().type));
    }
  }
}

}  // namespace

void run_with_guards(const std::function<void(ModuleGraph&)>& pass, ModuleGraph& graph) {
  const std::vector<NodeId> order = graph.graph.order();
  if (std::ranges::none_of(order, [&](NodeId id) { return is_stated(graph.graph.node(id)); }))
    return pass(graph);
  const ModuleGraph before = graph;
  pass(graph);
  const Nodes made = nodes_of(graph);
  const auto made_without = [&](const Facts& facts) {
    ModuleGraph blind = without(before, facts);
    pass(blind);
    return nodes_of(blind);
  };
  const Nodes blind = made_without(all_facts());
  if (blind == made) return;
  Facts relied_on;
  for (const Fact fact : all_facts()) {
    if (made_without({fact}) != made) relied_on.insert(fact);
  }
  add_guards(before.graph, inputs_of_difference(before, made, blind),
             relied_on.empty() ? all_facts() : relied_on, graph);
}

}  // namespace fxtrace::internal
