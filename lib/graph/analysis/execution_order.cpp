#include "graph/analysis/execution_order.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace fxtrace::internal {

CallOrder::CallOrder(const Execution& execution) {
  auto other = execution.method_calls.begin();
  const auto add_others = [&](std::int64_t position) {
    for (; other != execution.method_calls.end() && static_cast<std::int64_t>(other->position) <= position;
         ++other)
      add(other->module, other->method, 0, other->caller);
  };
  std::int64_t position = 0;
  for (const std::string& module : execution.module_forward_order) {
    add_others(position);
    const auto place = static_cast<std::size_t>(position);
    const bool is_told = place < execution.callers.size();
    add(module, {}, ++position, is_told ? std::string_view(*execution.callers[place]) : std::string_view());
  }
  add_others(position);
}

void CallOrder::add(std::string_view module, std::string_view method, std::int64_t position,
                    std::string_view caller) {
  std::vector<std::size_t>& calls = method.empty() ? forward_[module] : others_[module][method];
  calls.push_back(calls_.size());
  calls_.push_back({module, method, static_cast<std::int64_t>(calls.size()), position, caller});
}

const std::vector<std::size_t>* CallOrder::find_calls(std::string_view module) const {
  const auto found = forward_.find(module);
  return found == forward_.end() ? nullptr : &found->second;
}

std::optional<std::size_t> CallOrder::find_calls(const Scope& scope) const {
  const std::vector<std::size_t>* calls = nullptr;
  if (scope.method.empty()) {
    calls = find_calls(scope.module_path);
  } else if (const auto others = others_.find(scope.module_path); others != others_.end()) {
    const auto found = others->second.find(scope.method);
    if (found != others->second.end()) calls = &found->second;
  }
  const auto number = static_cast<std::size_t>(scope.call);
  return calls != nullptr && number <= calls->size() ? std::optional((*calls)[number - 1]) : std::nullopt;
}

namespace {

// A limit on merged parameters: operands in a hostile file can stand for any number of them, if several
// calls run one subgraph.
constexpr std::int64_t kMostMerged = 10'000'000;

// Returns the arguments that a call passes on to its subgraphs: those behind the last subgraph, and the
// items of lists among them.
std::vector<const Argument*> operands_of(const Node& call) {
  std::vector<const Argument*> operands;
  const auto add = [&](const Argument& argument, const auto& self) -> void {
    if (const auto* items = items_of(argument)) {
      for (const Argument& item : *items) self(item, self);
    } else if (argument.is<Argument::GraphRef>()) {
      operands.clear();
    } else {
      operands.push_back(&argument);
    }
  };
  for_each_argument(call, [&](const Argument& argument) { add(argument, add); });
  return operands;
}

bool has_subgraphs(const Node& node) {
  bool any = false;
  if (node.op == Opcode::kCallFunction)
    for_each_of<Argument::GraphRef>(node, [&](const auto&) { any = true; });
  return any;
}

}  // namespace

struct ParameterUses::Body {
  const ModuleGraph* graph = nullptr;
  std::vector<NodeId> inputs;
  Values values;  // the parameters that the inputs stand for
  bool is_visited = false;
};

ParameterUses::ParameterUses(const GraphCollection& collection) : collection_(collection) {
  for (std::size_t i = 0; i < collection.parameters.size(); ++i)
    by_name_.emplace(collection.parameters[i].name, i);
}

std::optional<std::size_t> ParameterUses::find_parameter(std::string_view name) const {
  auto found = by_name_.find(name);
  if (found == by_name_.end()) return std::nullopt;
  if (const auto& first = collection_.parameters[found->second].alias_of) found = by_name_.find(*first);
  if (collection_.parameters[found->second].kind != ParameterKind::kParameter) return std::nullopt;
  return found->second;
}

const ParameterUses::Parameters& ParameterUses::of_module(const std::string& path) {
  const auto [known, is_new] = of_module_.try_emplace(path);
  if (!is_new) return known->second;
  const std::string prefix = path.empty() ? "" : path + ".";
  const auto is_below = [&](const auto& item) { return item->first.starts_with(prefix); };
  std::vector<std::size_t> names;
  for (auto at = by_name_.lower_bound(prefix); at != by_name_.end() && is_below(at); ++at)
    names.push_back(at->second);
  std::ranges::sort(names);
  std::unordered_set<std::size_t> seen;
  for (const std::size_t name : names) {
    const auto parameter = find_parameter(collection_.parameters[name].name);
    if (parameter && seen.insert(*parameter).second) known->second.push_back(*parameter);
  }
  return known->second;
}

void ParameterUses::for_each(const ModuleGraph& graph, const Visit& visit) { visit_graph(graph, {}, visit); }

// Records which parameters the inputs of the call's subgraphs stand for.  Returns whether the operands are
// these inputs.
bool ParameterUses::hand_over(const ModuleGraph& graph, const Node& call, const Values& values,
                              Bodies& bodies) {
  const std::vector<const Argument*> operands = operands_of(call);
  bool all_match = true;
  std::unordered_set<std::string_view> seen;
  for_each_of<Argument::GraphRef>(call, [&](const Argument::GraphRef& reference) {
    if (!seen.insert(reference.name).second) return;
    const auto [known, is_new] = bodies.try_emplace(reference.name);
    Body& body = known->second;
    if (is_new) {
      body.graph = graph.subgraphs.find_graph(reference.name);
      const Graph& nodes = body.graph->graph;
      for (NodeId id = nodes.first(); nodes.node(id).op == Opcode::kPlaceholder; id = nodes.next(id))
        body.inputs.push_back(id);
    }
    all_match = all_match && body.inputs.size() == operands.size();
    for (std::size_t i = 0; all_match && i < operands.size(); ++i) {
      const auto* id = operands[i]->get_if<NodeId>();
      const auto held = id == nullptr ? values.end() : values.find(id->index);
      if (held != values.end()) merge(body.values[body.inputs[i].index], held->second);
    }
  });
  return all_match;
}

void ParameterUses::merge(Parameters& into, const Parameters& more) {
  for (const std::size_t parameter : more) {
    if (merged_ >= kMostMerged) return;
    merged_ += 1 + static_cast<std::int64_t>(into.size());
    if (std::ranges::find(into, parameter) == into.end()) into.push_back(parameter);
  }
}

void ParameterUses::visit_graph(const ModuleGraph& graph, Values values, const Visit& visit) {
  Bodies bodies;
  std::unordered_map<std::uint32_t, bool> hands_over;  // by call: whether it passes on all its operands
  for (NodeId id = graph.graph.first(); id.valid(); id = graph.graph.next(id)) {
    const Node& node = graph.graph.node(id);
    if (node.op == Opcode::kGetAttr) {
      if (const auto parameter = find_parameter(*node.target)) values[id.index] = {*parameter};
    } else if (has_subgraphs(node)) {
      hands_over[id.index] = hand_over(graph, node, values, bodies);
    }
  }
  Parameters used;
  for (NodeId id = graph.graph.first(); id.valid(); id = graph.graph.next(id)) {
    const Node& node = graph.graph.node(id);
    if (node.op == Opcode::kOutput) break;
    std::unordered_set<std::uint32_t> handed;
    if (const auto call = hands_over.find(id.index); call != hands_over.end()) {
      for_each_of<Argument::GraphRef>(node, [&](const Argument::GraphRef& reference) {
        Body& body = bodies.at(reference.name);
        if (!std::exchange(body.is_visited, true)) visit_graph(*body.graph, std::move(body.values), visit);
      });
      for (const Argument* operand : operands_of(node)) {
        const auto* value = operand->get_if<NodeId>();
        if (call->second && value != nullptr) handed.insert(value->index);
      }
    }
    used.clear();
    if (node.op == Opcode::kCallModule) used = of_module(called_module(node));
    std::unordered_set<std::size_t> seen;
    for_each_input(node, [&](NodeId input) {
      const auto held = values.find(input.index);
      if (held == values.end() || handed.contains(input.index)) return;
      if (seen.empty()) seen.insert(used.begin(), used.end());
      for (const std::size_t parameter : held->second) {
        if (seen.insert(parameter).second) used.push_back(parameter);
      }
    });
    if (!used.empty()) visit(node, used);
  }
}

}  // namespace fxtrace::internal
