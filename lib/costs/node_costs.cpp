#include "costs/node_costs.h"

#include <algorithm>
#include <utility>

#include "analysis/node_arguments.h"

namespace fxtrace::internal {

NodeCosts::NodeCosts(const ModuleGraph& graph, const CustomCosts& custom,
                     const std::vector<std::uint32_t>* uses)
    : module_graph_(graph), graph_(graph.graph), custom_(custom), uses_(uses) {}

// Returns the cost that the front end has set.  Once the graph has costs, a call without one costs nothing.
Cost NodeCosts::cost_of_call(const Node& node) const {
  Cost other;
  if (module_graph_.cost) {
    other.macs = other.activation_bytes = 0;
  } else {
    other.unsized = 1;
  }
  return node.cost->value_or(other);
}

void NodeCosts::begin() {
  known_.resize(graph_.id_count());
  is_known_.resize(graph_.id_count());
  run_.emplace();
}

Cost NodeCosts::sum(const std::vector<NodeId>& nodes) {
  begin();
  for (const NodeId id : nodes) add(graph_.node(id));
  return log().cost();
}

AbstractValue& NodeCosts::known(NodeId id) {
  AbstractValue& known = known_[id.index];
  if (!is_known_[id.index]) {
    known = known_value(*graph_.node(id).meta);
    is_known_[id.index] = true;
  }
  return known;
}

bool NodeCosts::add(const Node& node) {
  switch (node.op) {
    case Opcode::kPlaceholder:
    case Opcode::kGetAttr:
      known(node.id);
      return false;
    case Opcode::kOutput:
      for_each_input(node, [&](NodeId used) { log().keep_alive(known(used)); });
      return false;
    case Opcode::kCallModule:
      return add_known(node, cost_of_call(node));
    case Opcode::kCallMethod: {
      Cost cost;
      cost.unknown[*node.target] = 1;
      return add_known(node, cost);
    }
    case Opcode::kCallFunction:
      break;
  }
  if (const CustomCosts::Rule* rule = custom_.find_rule(*node.target))
    return add_known(node, custom_cost(node, *rule));
  if (const OperatorEntry* op = find_operator_of(*node.target)) return add_operator(node, *op);
  const TargetParts target = parse_target(*node.target);
  if (target.kind == TargetKind::kHigherOrder) return add_known(node, higher_order_cost(node, target));
  if (*node.target == "operator.getitem") {
    add_item(node);
    return false;
  } else if (is_plain_python(target)) {
    Cost cost;
    cost.macs = 0;
    if (node.meta->kind() != ValueKind::kTensor) cost.activation_bytes = 0;
    return add_known(node, cost);
  } else if (target.space.starts_with("torch.") && !target.space.starts_with("torch._functorch")) {
    return add_known(node, cost_of_call(node));
  } else if (*node.cost) {
    return add_known(node, **node.cost);
  }
  Cost cost;
  cost.unknown[*node.target] = 1;
  return add_known(node, cost);
}

// The cache is keyed by the target's address, since nodes with the same target share it.
const OperatorEntry* NodeCosts::find_operator_of(const std::string& target) {
  const auto [place, is_new] = operators_.try_emplace(&target, nullptr);
  if (is_new) {
    const TargetParts parts = parse_target(target);
    const Operator* row = parts.kind == TargetKind::kOperator ? find_operator(parts) : nullptr;
    if (row != nullptr) place->second = &entry_of(*row);
  }
  return place->second;
}

// Returns the results of a call with several results, as far as nodes take them.
AbstractValue NodeCosts::taken_items(const Node& node) const {
  AbstractValue::Sequence items;
  for (const NodeId user : node.users) {
    const Node& taken = graph_.node(user);
    const auto index = item_index(taken);
    if (!index || is_unused(taken) || !(taken.args[0] == Argument(node.id))) continue;
    if (*index >= 2 * node.users.size() + 16) continue;  // a file may claim any index
    if (items.size() <= *index) items.resize(*index + 1);
    items[*index] = known_value(*taken.meta);
  }
  return items.empty() ? AbstractValue{} : AbstractValue{std::move(items)};
}

bool NodeCosts::add_operator(const Node& node, const OperatorEntry& op) {
  const auto value_of = [this](NodeId id) -> const AbstractValue& { return known(id); };
  const KnownArguments args(op, node, value_of);
  const std::vector<SchemaType>& types = op.schema.results;
  std::vector<AbstractValue> results;
  if (types.size() == 1) {
    results.push_back(types[0].is_list() ? taken_items(node) : known_value(*node.meta));
  } else if (types.size() > 1) {
    AbstractValue items = taken_items(node);
    if (auto* sequence = std::get_if<AbstractValue::Sequence>(&items.value)) results = std::move(*sequence);
    // A result that no node takes is freed at once.
    results.resize(types.size(), {NoneValue{}});
    for (AbstractValue& result : results) {
      if (result.is_unknown() && !is_taken(node, &result - results.data())) result = {NoneValue{}};
    }
  }
  log().call(op, args, results);
  last_.reset();
  known(node.id) = results.size() == 1 ? std::move(results[0]) : AbstractValue{std::move(results)};
  return true;
}

Cost NodeCosts::custom_cost(const Node& node, const CustomCosts::Rule& rule) {
  const auto known_of = [this](const Argument& argument) {
    return known_value(argument, [this](NodeId id) -> const AbstractValue& { return known(id); });
  };
  std::vector<AbstractValue> results{known_value(*node.meta)};
  if (results[0].is_unknown()) {
    const AbstractValue items = taken_items(node);
    if (const auto* sequence = items.sequence()) results.assign(sequence->begin(), sequence->end());
  }
  const OperatorEntry* op = find_operator_of(*node.target);  // null for an unknown operator
  const auto argument = [&](std::size_t place) -> std::optional<AbstractValue> {
    if (place < node.args.size()) return known_of(node.args[place]);
    if (op == nullptr || place >= op->defaults.size()) return std::nullopt;
    const Argument* given = NodeArguments(node, *op).find_argument(place);
    return given != nullptr ? known_of(*given) : op->defaults[place];
  };
  const auto named = [&](const std::string& name) -> std::optional<AbstractValue> {
    if (const auto* given = find_argument(node, SIZE_MAX, name)) return known_of(*given);
    const auto place = op == nullptr ? std::nullopt : op->schema.find_argument(name);
    return place ? argument(*place) : std::nullopt;
  };
  return CustomCosts::cost(rule, {argument, named, std::move(results)});
}

bool NodeCosts::is_taken(const Node& node, std::ptrdiff_t index) const {
  return std::ranges::any_of(node.users, [&](NodeId user) {
    const Node& taken = graph_.node(user);
    return *taken.target != "operator.getitem" || taken.args.size() != 2 ||
           (taken.args[1] == Argument(std::int64_t{index}) && !is_unused(taken));
  });
}

bool NodeCosts::add_known(const Node& node, Cost cost) {
  cost.parameter_bytes = 0;
  std::vector<const AbstractValue*> args;
  for_each_input(node, [&](NodeId used) { args.push_back(&known(used)); });
  AbstractValue result = known_value(*node.meta);
  if (result.is_unknown()) result = taken_items(node);
  std::vector<AbstractValue> results{std::move(result)};
  log().call(cost, args, results);
  // A call of unknown cost makes at least its results.
  if (!cost.activation_bytes && cost.unsized == 0 && !results[0].is_unknown())
    cost.activation_bytes = log().last().activation_bytes;
  known(node.id) = std::move(results[0]);
  last_ = std::move(cost);
  return true;
}

void NodeCosts::add_item(const Node& node) {
  AbstractValue item = known_value(*node.meta);
  const auto* from = node.args.empty() ? nullptr : node.args[0].get_if<NodeId>();
  const auto* index = node.args.size() < 2 ? nullptr : node.args[1].get_if<std::int64_t>();
  if (from != nullptr) {
    const auto* items = known(*from).sequence();
    const bool is_there = items != nullptr && index != nullptr && *index >= 0 &&
                          static_cast<std::size_t>(*index) < items->size();
    if (is_there) {
      item = (*items)[static_cast<std::size_t>(*index)];
    } else if (auto* info = std::get_if<TensorInfo>(&item.value); info != nullptr && known(*from).tensor()) {
      info->memory = known(*from).tensor()->memory;
    }
  }
  known(node.id) = std::move(item);
}

// --- operators that run subgraphs ---

std::optional<Cost> NodeCosts::find_subgraph_cost(const std::string& name) const {
  const ModuleGraph* found = module_graph_.subgraphs.find_graph(name);
  if (found == nullptr || found->cost) return found == nullptr ? std::nullopt : found->cost;
  const std::vector<NodeId> order = found->graph.order();
  std::vector<std::uint32_t> uses(found->graph.id_count());
  for (const NodeId id : order)
    uses[id.index] = static_cast<std::uint32_t>(found->graph.node(id).users.size());
  return NodeCosts(*found, custom_, uses_ == nullptr ? nullptr : &uses).sum(order);
}

Cost NodeCosts::higher_order_cost(const Node& node, const TargetParts& target) {
  std::vector<Cost> inside;
  bool all = true;
  for_each_of<Argument::GraphRef>(node, [&](const Argument::GraphRef& graph) {
    auto cost = find_subgraph_cost(graph.name);
    all = all && cost;
    if (cost) inside.push_back(*std::move(cost));
  });
  std::optional<SymInt> times;
  if (const auto argument = find_repeating_argument(target); argument && *argument < node.args.size()) {
    for_each_reference(node.args[*argument], [&](NodeId id) {
      const TensorInfo* info = known(id).tensor();
      if (!times && info != nullptr && !info->sizes.empty()) times = info->sizes.front();
    });
  }
  return cost_of_runs(*node.target, all ? inside : std::vector<Cost>{}, times);
}

}  // namespace fxtrace::internal
