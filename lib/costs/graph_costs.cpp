#include "costs/graph_costs.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "costs/custom_costs.h"
#include "costs/known_arguments.h"
#include "opinfo/rules/shape_helpers.h"
#include "opinfo/stored_parts.h"
#include "support/saturated.h"

namespace fxtrace {

AbstractValue known_value(const Meta& meta) {
  if (meta.shape) {
    auto sizes = meta.sizes();
    return sizes ? AbstractValue{TensorInfo{*std::move(sizes), meta.dtype}} : AbstractValue{};
  }
  const SymInt* number = meta.value ? meta.value->size() : nullptr;
  return number == nullptr ? AbstractValue{} : AbstractValue{*number};
}

namespace {

// A parameter, buffer or constant of the model.
struct Owned {
  std::size_t number = 0;  // the same for tied tensors
  std::int64_t bytes = 0;
  const std::vector<StoredPart>* stored = nullptr;  // its tensors when it is not one plain tensor
  bool is_packed = false;
};

std::int64_t stored_bytes(const std::vector<std::int64_t>& shape, std::string_view dtype) {
  const auto bytes = bytes_of(Sizes(shape.begin(), shape.end()), find_scalar_type(dtype));
  return bytes ? bytes->number().value_or(0) : 0;
}

std::int64_t stored_bytes(const std::vector<StoredPart>& parts) {
  std::int64_t bytes = 0;
  for (const StoredPart& part : parts) add_saturated(bytes, stored_bytes(part.shape, part.dtype));
  return bytes;
}

// Returns the known value of packed parameters: the weight, which is the first part.
AbstractValue packed_value(const std::vector<StoredPart>& parts) {
  if (parts.empty()) return {};
  TensorInfo weight;
  weight.sizes.assign(parts.front().shape.begin(), parts.front().shape.end());
  weight.dtype = find_scalar_type(std::string_view(parts.front().dtype));
  return {AbstractValue::Sequence{{std::move(weight)}}};
}

// The owned tensors by name, so that those of a module and its submodules are adjacent.
class OwnedTensors {
 public:
  explicit OwnedTensors(const std::vector<ParameterRecord>& parameters) {
    for (const ParameterRecord& record : parameters) {
      if (record.kind == ParameterKind::kCustomObject) continue;
      const std::string& first = record.alias_of ? *record.alias_of : record.name;
      const std::size_t number = numbers_.try_emplace(first, numbers_.size()).first->second;
      const bool is_plain = record.stored.empty();
      by_name_[record.name] = {
          number, is_plain ? stored_bytes(record.shape, record.dtype) : stored_bytes(record.stored),
          is_plain ? nullptr : &record.stored, record.is_packed()};
    }
  }

  std::size_t size() const { return numbers_.size(); }  // greater than every number
  const Owned* find(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : &found->second;
  }
  template <class F>
  void for_each_below(const std::string& module, F&& f) const {
    const std::string prefix = module.empty() ? "" : module + ".";
    for (auto at = by_name_.lower_bound(prefix); at != by_name_.end() && at->first.starts_with(prefix);
         ++at) {
      f(at->second);
    }
  }

 private:
  std::map<std::string_view, Owned> by_name_;
  std::unordered_map<std::string_view, std::size_t> numbers_;  // by first name of tied tensors
};

// Adds up the bytes of tensors, each of them once until the next begin().
class OwnedBytes {
 public:
  void begin() {
    ++turn_;
    bytes_ = 0;
  }
  void add(const Owned& owned) {
    if (seen_.size() <= owned.number) seen_.resize(owned.number + 1);
    if (std::exchange(seen_[owned.number], turn_) != turn_) add_saturated(bytes_, owned.bytes);
  }
  std::int64_t bytes() const { return bytes_; }

 private:
  std::vector<std::uint32_t> seen_;  // by number
  std::uint32_t turn_ = 1;
  std::int64_t bytes_ = 0;
};

bool is_nothing(const Cost& cost) {
  return cost.macs == SymInt(0) && cost.activation_bytes == SymInt(0) && cost.parameter_bytes == 0 &&
         cost.unknown.empty() && cost.unsized == 0;
}

Cost unsized_call() {
  Cost cost;
  cost.unsized = 1;
  return cost;
}

class GraphCosts {
 public:
  // `read` and `all` may be shared by any number of graphs, one after another.
  GraphCosts(const OwnedTensors& owned, const CustomCosts& custom, OwnedBytes& read, OwnedBytes& all,
             ModuleGraph& graph, bool is_subgraph)
      : owned_(owned),
        custom_(custom),
        module_graph_(graph),
        graph_(graph.graph),
        is_subgraph_(is_subgraph),
        log_(dimensions_),
        read_(read),
        all_(all) {
    for (const auto& [name, constant] : graph.constants) {
      const bool is_packed = !constant.stored.empty();
      constants_.emplace(name, Owned{owned.size() + constants_.size(),
                                     is_packed ? stored_bytes(constant.stored)
                                               : stored_bytes(constant.shape, constant.dtype),
                                     is_packed ? &constant.stored : nullptr, is_packed});
    }
    for (auto& [name, subgraph] : graph.subgraphs) GraphCosts(owned, custom, read, all, subgraph, true).run();
  }

  void run() {
    all_.begin();
    const std::vector<NodeId> order = graph_.order();
    std::uint32_t last = 0;
    for (const NodeId id : order) last = std::max(last, id.index);
    known_.resize(std::size_t{last} + 1);
    for (const NodeId id : order) add(graph_.node(id));
    Cost cost = log_.cost();
    cost.parameter_bytes = all_.bytes();
    module_graph_.cost = std::move(cost);
  }

 private:
  AbstractValue& known(NodeId id) { return known_[id.index]; }

  void add(const Node& node) {
    switch (node.op) {
      case Opcode::kPlaceholder:
        known(node.id) = known_value(*node.meta);
        // The inputs of a subgraph are live in the outer graph, and counted there.
        if (!is_subgraph_) log_.hold(known(node.id));
        return;
      case Opcode::kGetAttr:
        known(node.id) = attribute_value(node);
        return;
      case Opcode::kOutput:
        for_each_input(node, [&](NodeId used) { log_.keep_alive(known(used)); });
        return;
      case Opcode::kCallModule:
        return add_known(node, node.cost->value_or(unsized_call()));
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
      return add_item(node);
    } else if (is_plain_python(target)) {
      Cost cost;
      cost.macs = 0;
      if (node.meta->kind() != ValueKind::kTensor) cost.activation_bytes = 0;
      return add_known(node, cost);
    } else if (target.space.starts_with("torch.") && !target.space.starts_with("torch._functorch")) {
      return add_known(node, node.cost->value_or(unsized_call()));
    } else if (*node.cost) {
      return add_known(node, **node.cost);
    }
    Cost cost;
    cost.unknown[*node.target] = 1;
    add_known(node, cost);
  }

  const Owned* find_owned(std::string_view target) const {
    if (const Owned* owned = owned_.find(target)) return owned;
    const auto constant = constants_.find(target);
    return constant == constants_.end() ? nullptr : &constant->second;
  }

  AbstractValue attribute_value(const Node& node) const {
    const Owned* owned = find_owned(*node.target);
    return owned != nullptr && owned->is_packed ? packed_value(*owned->stored) : known_value(*node.meta);
  }

  // The cache is keyed by the target's address, since nodes with the same target share it.
  const OperatorEntry* find_operator_of(const std::string& target) {
    const auto [place, is_new] = operators_.try_emplace(&target, nullptr);
    if (is_new) {
      const TargetParts parts = parse_target(target);
      const Operator* row = parts.kind == TargetKind::kOperator ? find_operator(parts) : nullptr;
      if (row != nullptr) place->second = &entry_of(*row);
    }
    return place->second;
  }

  void set_cost(const Node& node, Cost cost) {
    read_.begin();
    const auto add_read = [&](const Owned& owned) {
      read_.add(owned);
      all_.add(owned);
    };
    for_each_input(node, [&](NodeId used) {
      const Node& input = graph_.node(used);
      if (input.op != Opcode::kGetAttr) return;
      if (const Owned* owned = find_owned(*input.target)) add_read(*owned);
    });
    if (node.op == Opcode::kCallModule) owned_.for_each_below(called_module(node), add_read);
    cost.parameter_bytes = bytes_of_part(node).value_or(read_.bytes());
    if (cost.peak_bytes == cost.activation_bytes) cost.peak_bytes.reset();
    if (is_nothing(cost)) return graph_.set_cost(node.id, std::nullopt);
    Shared<std::optional<Cost>>& latest = costs_[&*node.target];
    if (*latest != cost) latest = std::optional(std::move(cost));
    graph_.set_cost(node.id, latest);
  }

  // Returns the bytes of the part that a node takes out of a tensor subclass; nothing for other nodes.
  std::optional<std::int64_t> bytes_of_part(const Node& node) const {
    if (!takes_stored_part(*node.target) || node.args.size() != 2) return std::nullopt;
    const auto* id = node.args[0].get_if<NodeId>();
    const auto* name = node.args[1].get_if<std::string>();
    if (id == nullptr || name == nullptr || graph_.node(*id).op != Opcode::kGetAttr) return std::nullopt;
    const Owned* owned = find_owned(*graph_.node(*id).target);
    if (owned == nullptr || owned->stored == nullptr) return std::nullopt;
    const auto part = std::ranges::find(*owned->stored, *name, &StoredPart::name);
    if (part == owned->stored->end()) return std::nullopt;
    return stored_bytes(part->shape, part->dtype);
  }

  // Returns the results of a call with several results, as far as nodes take them.
  AbstractValue taken_items(const Node& node) {
    AbstractValue::Sequence items;
    for (const NodeId user : node.users) {
      const Node& taken = graph_.node(user);
      const auto index = item_index(taken);
      if (!index || !(taken.args[0] == Argument(node.id))) continue;
      if (*index >= 2 * node.users.size() + 16) continue;  // a file may claim any index
      if (items.size() <= *index) items.resize(*index + 1);
      items[*index] = known_value(*taken.meta);
    }
    return items.empty() ? AbstractValue{} : AbstractValue{std::move(items)};
  }

  void add_operator(const Node& node, const OperatorEntry& op) {
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
    log_.call(op, args, results);
    set_cost(node, log_.last());
    known(node.id) = results.size() == 1 ? std::move(results[0]) : AbstractValue{std::move(results)};
  }

  Cost custom_cost(const Node& node, const CustomCosts::Rule& rule) {
    const auto known_of = [this](const Argument& argument) {
      return known_value(argument, [this](NodeId id) -> const AbstractValue& { return known(id); });
    };
    std::vector<AbstractValue> results{known_value(*node.meta)};
    if (results[0].is_unknown()) {
      const AbstractValue items = taken_items(node);
      if (const auto* sequence = items.sequence()) results.assign(sequence->begin(), sequence->end());
    }
    return fxtrace::custom_cost(rule, find_operator_of(*node.target), node, known_of, std::move(results));
  }

  bool is_taken(const Node& node, std::ptrdiff_t index) {
    return std::ranges::any_of(node.users, [&](NodeId user) {
      const Node& taken = graph_.node(user);
      return *taken.target != "operator.getitem" || taken.args.size() != 2 ||
             taken.args[1] == Argument(std::int64_t{index});
    });
  }

  void add_known(const Node& node, Cost cost) {
    cost.parameter_bytes = 0;
    std::vector<const AbstractValue*> args;
    for_each_input(node, [&](NodeId used) { args.push_back(&known(used)); });
    AbstractValue result = known_value(*node.meta);
    if (result.is_unknown()) result = taken_items(node);
    std::vector<AbstractValue> results{std::move(result)};
    log_.call(cost, args, results);
    // A call of unknown cost makes at least its results.
    if (!cost.activation_bytes && cost.unsized == 0 && !results[0].is_unknown())
      cost.activation_bytes = log_.last().activation_bytes;
    known(node.id) = std::move(results[0]);
    set_cost(node, std::move(cost));
  }

  void add_item(const Node& node) {
    AbstractValue item = known_value(*node.meta);
    const auto* from = node.args.empty() ? nullptr : node.args[0].get_if<NodeId>();
    const auto* index = node.args.size() < 2 ? nullptr : node.args[1].get_if<std::int64_t>();
    if (from != nullptr) {
      const auto* items = known(*from).sequence();
      const bool is_there = items != nullptr && index != nullptr && *index >= 0 &&
                            static_cast<std::size_t>(*index) < items->size();
      if (is_there) {
        item = (*items)[static_cast<std::size_t>(*index)];
      } else if (auto* info = std::get_if<TensorInfo>(&item.value);
                 info != nullptr && known(*from).tensor()) {
        info->memory = known(*from).tensor()->memory;
      }
    }
    known(node.id) = std::move(item);
    graph_.set_cost(node.id, std::nullopt);
  }

  // --- operators that run subgraphs ---

  const Cost* find_subgraph_cost(const std::string& name) const {
    const ModuleGraph* found = module_graph_.subgraphs.find_graph(name);
    return found == nullptr || !found->cost ? nullptr : &*found->cost;
  }

  Cost higher_order_cost(const Node& node, const TargetParts& target) {
    std::vector<Cost> inside;
    bool all = true;
    for_each_of<Argument::GraphRef>(node, [&](const Argument::GraphRef& graph) {
      const Cost* cost = find_subgraph_cost(graph.name);
      all = all && cost != nullptr;
      if (cost != nullptr) inside.push_back(*cost);
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

  const OwnedTensors& owned_;
  const CustomCosts& custom_;
  ModuleGraph& module_graph_;
  Graph& graph_;
  bool is_subgraph_;
  ShapeEnv dimensions_;
  CostLog log_;
  std::unordered_map<std::string_view, Owned> constants_;
  OwnedBytes &read_, &all_;           // bytes read by the current node, and by all nodes
  std::vector<AbstractValue> known_;  // by node
  std::unordered_map<const std::string*, const OperatorEntry*> operators_;  // by target; null for others
  // The cost of the latest node with each target: the next one mostly has the same.
  std::unordered_map<const std::string*, Shared<std::optional<Cost>>> costs_;
};

}  // namespace

void add_costs(GraphCollection& collection) {
  const OwnedTensors owned(collection.parameters);
  OwnedBytes read, all;
  const CustomCosts custom(collection.custom_costs);
  for (ModuleGraph& graph : collection.graphs) GraphCosts(owned, custom, read, all, graph, false).run();
}

}  // namespace fxtrace
