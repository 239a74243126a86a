#include "exported/modules/call_costs.h"

#include <optional>
#include <utility>

#include "costs/known_arguments.h"

namespace fxtrace {

// The cost of one call.
class OperationSum {
 public:
  explicit OperationSum(OperationCosts& all)
      : all_(all), graph_(all.graph_), uses_(all.uses_), log_(dimensions_) {}

  Cost run(const std::vector<NodeId>& operations) {
    for (const NodeId operation : operations) add(graph_.node(operation));
    return log_.cost();
  }

 private:
  AbstractValue& known(NodeId value) {
    AbstractValue& known = all_.known_[value.index];
    if (!all_.is_known_[value.index]) {
      known = known_value(graph_.meta(value));
      all_.is_known_[value.index] = true;
    }
    return known;
  }

  void add(const Node& operation) {
    const TargetParts target = target_parts(operation);
    const Operator* op = graph_.facts(operation.id).op;
    if (const CustomCosts::Rule* rule = all_.custom_.find_rule(*operation.target))
      return add_custom(operation, *rule, op == nullptr ? nullptr : &entry_of(*op));
    if (op != nullptr) return add_operator(operation, entry_of(*op));
    if (target.kind == TargetKind::kHigherOrder) return add_runs(operation, target);
    if (!is_plain_python(target)) log_.add_unknown(*operation.target);
  }

  void add_operator(const Node& operation, const OperatorEntry& op) {
    const auto value_of = [this](NodeId value) -> const AbstractValue& { return known(value); };
    const KnownArguments args(op, operation, value_of);
    std::vector<AbstractValue> results(op.schema.results.size(), AbstractValue{NoneValue{}});
    const std::vector<ProgramResult> outputs = graph_.results(operation.id);
    const std::size_t most = 2 * outputs.size() + 16;
    for (const auto& [value, path] : outputs) {
      if (!path.empty() && uses_[value.index] == 0) continue;  // it is freed at once
      if (AbstractValue* place = place_of(results, path, most)) *place = known(value);
    }
    log_.call(op, args, results);
    for (const auto& [value, path] : outputs) {
      if (AbstractValue* place = place_of(results, path, most)) known(value) = *place;
    }
  }

  void add_custom(const Node& operation, const CustomCosts::Rule& rule, const OperatorEntry* op) {
    const auto known_of = [this](const Argument& operand) {
      return known_value(operand, [this](NodeId value) -> const AbstractValue& { return known(value); });
    };
    std::vector<const AbstractValue*> args;
    for_each_input(operation, [&](NodeId value) { args.push_back(&known(value)); });
    std::vector<AbstractValue> results;
    const std::vector<ProgramResult> outputs = graph_.results(operation.id);
    for (const auto& output : outputs) results.push_back(known(output.value));
    log_.call(custom_cost(rule, op, operation, known_of, results), args, results);
    for (std::size_t i = 0; i < results.size(); ++i) known(outputs[i].value) = std::move(results[i]);
  }

  // Returns the place of the result at `path`, or of a part of it; null for a path that no result has.
  static AbstractValue* place_of(std::vector<AbstractValue>& results, const std::vector<std::int64_t>& path,
                                 std::size_t most) {
    if (results.empty()) return nullptr;
    if (path.empty()) return results.data();
    if (path.size() > 1 || path[0] < 0) return nullptr;
    const auto index = static_cast<std::size_t>(path[0]);
    if (results.size() > 1) return index < results.size() ? &results[index] : nullptr;
    if (index >= most) return nullptr;  // a file may claim any index
    if (results[0].sequence() == nullptr) results[0] = {AbstractValue::Sequence{}};
    auto& items = std::get<AbstractValue::Sequence>(results[0].value);
    if (items.size() <= index) items.resize(index + 1);
    return &items[index];
  }

  void add_runs(const Node& operation, const TargetParts& target) {
    std::vector<Cost> inside;
    graph_.for_each_subgraph(operation.id, [&](const std::string&, const ProgramView& body) {
      const std::vector<std::uint32_t> uses = count_uses(body);
      inside.push_back(OperationCosts(body, uses, all_.custom_).cost_of(body.operations()));
    });
    std::optional<SymInt> times;
    if (const auto argument = find_repeating_argument(target);
        argument && *argument < operation.args.size()) {
      for_each_reference(operation.args[*argument], [&](NodeId value) {
        const TensorInfo* info = known(value).tensor();
        if (!times && info != nullptr && !info->sizes.empty()) times = info->sizes.front();
      });
    }
    std::vector<const AbstractValue*> args;
    for_each_input(operation, [&](NodeId value) { args.push_back(&known(value)); });
    std::vector<AbstractValue> results;
    const std::vector<ProgramResult> outputs = graph_.results(operation.id);
    for (const auto& output : outputs) results.push_back(known(output.value));
    log_.call(cost_of_runs(*operation.target, inside, times), args, results);
    for (std::size_t i = 0; i < results.size(); ++i) known(outputs[i].value) = std::move(results[i]);
  }

  OperationCosts& all_;
  const ProgramView graph_;
  const std::vector<std::uint32_t>& uses_;
  ShapeEnv dimensions_;
  CostLog log_;
};

OperationCosts::OperationCosts(const ProgramView& graph, const std::vector<std::uint32_t>& uses,
                               const CustomCosts& custom)
    : graph_(graph), uses_(uses), custom_(custom) {}

Cost OperationCosts::cost_of(const std::vector<NodeId>& operations) {
  // The tables are made here, as a graph without leaves needs none.
  known_.resize(graph_.graph().id_count());
  is_known_.resize(graph_.graph().id_count());
  return OperationSum(*this).run(operations);
}

}  // namespace fxtrace
