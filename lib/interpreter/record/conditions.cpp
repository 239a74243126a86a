#include "interpreter/record/conditions.h"

#include <set>
#include <vector>

#include "interpreter/record/recorder.h"
#include "interpreter/state/value_form.h"

namespace fxtrace::internal::interpreter {
std::optional<Comparison> Conditions::comparison(const Value& condition) const {
  const Proxy* proxy = recorder_.find_recorded(condition);
  if (proxy == nullptr) return std::nullopt;
  return recorder_.ask_graph(proxy->ref, [&](const NumberedGraph& graph) {
    return comparison_of(graph, proxy->ref.node, state_.dimensions);
  });
}

std::optional<bool> Conditions::decide(const Value& condition) const {
  bool opposite = false;
  const auto assumed = assumed_.find(key_of(condition, opposite));
  if (assumed != assumed_.end()) return assumed->second != opposite;
  const auto asked = comparison(condition);
  return asked ? state_.dimensions.decide(asked->relation, asked->left, asked->right) : std::nullopt;
}

void Conditions::expect(const Value& condition, bool holds) {
  if (const auto* comparison = std::get_if<Condition>(&known_of(condition).value)) {
    state_.dimensions.assume(holds ? comparison->relation : negated(comparison->relation), comparison->left,
                             comparison->right);
  }
  if (const auto asked = comparison(condition)) {
    state_.dimensions.assume(holds ? asked->relation : negated(asked->relation), asked->left, asked->right);
  }
  bool opposite = false;
  if (std::string key = key_of(condition, opposite); !key.empty()) {
    assumed_[std::move(key)] = holds != opposite;
  }
}

void Conditions::assume(const IrNode* node, const Value& condition, bool holds) {
  expect(condition, holds);
  if (auto expr = find_expression(node->input(0), condition)) {
    tracer_->guard(holds ? *std::move(expr) : Expression::negation(*std::move(expr)), frames_.location(node),
                   GuardReason::kAssert);
  } else {
    record_assertion(node, condition, holds);
  }
}

bool Conditions::assume_length(const IrNode* node, const Value& list, std::size_t length) {
  if (recorder_.find_recorded(list) == nullptr) return true;
  bool names_inputs_only = true;
  Expression asked = recorder_.length_of(list, &names_inputs_only);
  const auto wanted = static_cast<std::int64_t>(length);
  if (asked.number() == wanted) return true;
  if (!tracer_->in_subgraph() && is_over_inputs(list, names_inputs_only)) {
    tracer_->guard(Expression::comparison("==", std::move(asked), wanted), frames_.location(node),
                   GuardReason::kAssert);
    return true;
  }
  if (known_of(list).sequence() != nullptr) return false;
  const Value count = recorder_.apply("builtins.len", {list}, int_type(), node);
  record_assertion(node, recorder_.apply("operator.eq", {count, wanted}, bool_type(), node), true);
  return true;
}

void Conditions::assume_scalar(const IrNode* node, const Value& tensor, bool is_integer) {
  bool names_inputs_only = true;
  const Expression name = recorder_.condition_of(tensor, &names_inputs_only);
  if (tracer_->in_subgraph() || !is_over_inputs(tensor, names_inputs_only)) {
    tracer_->call_function("aten._assert_tensor_metadata.default",
                           {recorder_.argument(tensor, node), Argument::List{}}, {}, meta_of(none_type()),
                           frames_.location(node));
    return;
  }
  const auto guard = [&](Expression condition) {
    tracer_->guard(std::move(condition), frames_.location(node), GuardReason::kAssert);
  };
  guard(Expression::comparison("==", Expression::method(name, "dim"), std::int64_t{0}));
  if (is_integer) guard(Expression::negation(Expression::method(name, "is_floating_point")));
}

bool Conditions::is_over_inputs(const Value& value, bool names_inputs_only) const {
  const NodeRef& ref = recorder_.find_recorded(value)->ref;
  return names_inputs_only &&
         !recorder_.ask_graph(ref, [&](const NumberedGraph& graph) { return reads_state(graph, ref.node); });
}

void Conditions::record_assertion(const IrNode* node, const Value& condition, bool holds) {
  const NodeRef asked = find_proxy(condition)->ref;
  const Graph& graph = tracer_->graph_of(asked);
  const internal::Node& made_by = graph.node(asked.node);
  const NodeId* of = made_by.target == "builtins.bool" ? made_by.args[0].get_if<NodeId>() : nullptr;
  // The text is that of the source line: the value in words would be that from before a write.
  const std::optional<SourceLocation> source = frames_.location(node);
  std::string message = source && !source->text.empty() ? source->text : "the code raises";
  const auto call = [&](const char* target, std::vector<Argument> args, const TypePtr& type,
                        const AbstractValue& known = {}) {
    return tracer_->call_function(target, std::move(args), {}, meta_of(type, known), source);
  };
  const NodeId question = of != nullptr ? *of : asked.node;  // bool() of a tensor or an integer adds nothing
  NodeId truth = tracer_->use({asked.graph, question});
  if (graph.node(question).meta->kind() != ValueKind::kTensor) {
    const AbstractValue known{TensorInfo{{}, kDefaultFloat}};
    truth = call("aten.scalar_tensor.default", {truth}, tensor_type(),
                 state_.run.shapes ? known : AbstractValue());
  }
  if (!holds) truth = call("aten.logical_not.default", {truth}, tensor_type());
  call("aten._assert_async.msg", {truth, std::move(message)}, none_type());
}

std::optional<Expression> Conditions::find_expression(const IrValue* name, const Value& condition) const {
  if (tracer_->in_subgraph()) return std::nullopt;
  if (condition.is_bool()) return Expression::boolean(condition.to_bool());
  if (recorder_.find_recorded(condition) != nullptr) {
    bool over_inputs = true;
    Expression expression = recorder_.condition_of(condition, &over_inputs);
    return is_over_inputs(condition, over_inputs) ? std::optional(std::move(expression)) : std::nullopt;
  }
  const auto found = uncomputed_.find(name);
  return found == uncomputed_.end() ? std::nullopt : std::optional(found->second);
}

void Conditions::note_uncomputed(const IrValue* name, Expression expression) {
  uncomputed_.insert_or_assign(name, std::move(expression));
}

void Conditions::note_uncomputed_as(const IrValue* name, const IrValue* other) {
  const auto found = uncomputed_.find(other);
  if (found != uncomputed_.end()) note_uncomputed(name, Expression(found->second));
}

std::string Conditions::key_of(const Value& condition, bool& opposite) const {
  const Proxy* proxy = recorder_.find_recorded(condition);
  if (proxy == nullptr) return {};
  std::string key = recorder_.ask_graph(proxy->ref, [&](const NumberedGraph& graph) {
    return condition_key(graph, proxy->ref.node, opposite);
  });
  // Nodes of different graphs may have the same names.
  return proxy->ref.graph == kRootGraph ? key : std::to_string(proxy->ref.graph.index) + ":" + key;
}

bool Conditions::asks_for_none(const Value& condition) const {
  const Proxy* proxy = recorder_.find_recorded(condition);
  if (proxy == nullptr) return false;
  const Graph& graph = tracer_->graph_of(proxy->ref);
  const internal::Node* node = &graph.node(proxy->ref.node);
  while (node->target == "operator.not_" && node->args[0].is<NodeId>()) {
    node = &graph.node(*node->args[0].get_if<NodeId>());
  }
  return node->target == "operator.is_" || node->target == "operator.is_not";
}

// Follows the value back through functions that Python computes, and not through tensors and modules, which
// depend on data too.
void Conditions::record_query(const Value& value) const {
  const Proxy* proxy = fixable_.empty() ? nullptr : recorder_.find_recorded(value);
  if (proxy == nullptr) return;
  std::map<std::uint32_t, FixedInput> asked;  // in the order of the inputs
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
  std::vector<NodeRef> pending{proxy->ref};
  while (!pending.empty()) {
    const NodeRef at = pending.back();
    pending.pop_back();
    if (!seen.emplace(at.graph.index, at.node.index).second) continue;
    const auto& made_by = tracer_->graph_of(at).node(at.node);
    if (made_by.op == Opcode::kPlaceholder) {
      const NodeRef outer = tracer_->captured_by(at);
      if (outer.valid()) pending.push_back(outer);
      const auto input = at.graph == kRootGraph ? fixable_.find(at.node.index) : fixable_.end();
      if (input != fixable_.end()) asked.insert(*input);
    }
    if (made_by.op != Opcode::kCallFunction || made_by.meta->kind() == ValueKind::kTensor) continue;
    for_each_input(made_by, [&](NodeId used) { pending.push_back({at.graph, used}); });
  }
  if (asked.empty()) return;
  std::vector<FixedInput> inputs;
  for (auto& [index, input] : asked) inputs.push_back(std::move(input));
  throw InputsAsked(std::move(inputs));
}

}  // namespace fxtrace::internal::interpreter
