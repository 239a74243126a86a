#include "interpreter/graph/subgraphs.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "interpreter/program/convert.h"
#include "interpreter/state/value_form.h"
#include "operators/operators.h"
#include "operators/target.h"
#include "opinfo/traits.h"
#include "support/scope_guard.h"

namespace fxtrace::internal::interpreter {

bool is_converted(const Type& type) {
  return leaf_kind(type) == LeafKind::kBool || leaf_kind(type) == LeafKind::kFloat;
}

AbstractValue carried_knowledge(const Type& type, const AbstractValue& known, bool shapes) {
  if (!is_converted(type)) return known;
  const bool is_scalar = shapes && leaf_kind(type) == LeafKind::kFloat;
  return is_scalar ? AbstractValue{TensorInfo{{}, ScalarType::kFloat64}} : AbstractValue{};
}

TypePtr carried_type(const TypePtr& type) {
  switch (leaf_kind(*type)) {
    case LeafKind::kBool:
      return int_type();
    case LeafKind::kFloat:
      return tensor_type();
    default:
      return type;
  }
}

namespace {

bool is_mutable(const Value& value) { return value.is_list() || value.is_dict() || value.is_object(); }

// Returns the identities of all values that can be reached from these and changed in place.
std::unordered_set<const void*> mutable_values(std::vector<Value> pending) {
  std::unordered_set<const void*> found;
  while (!pending.empty()) {
    const Value value = std::move(pending.back());
    pending.pop_back();
    if (is_mutable(value) && !found.insert(value.identity()).second) continue;
    const auto add = [&](const Value& part) {
      if (is_mutable(part) || part.is_tuple()) pending.push_back(part);
    };
    if (value.is_list()) {
      for (const Value& item : value.items()) add(item);
    } else if (value.is_tuple()) {
      std::ranges::for_each(value.items(), add);
    } else if (value.is_dict()) {
      for (const auto& entry : value.to_dict().entries()) add(entry.value);
    } else if (value.is_object()) {
      std::ranges::for_each(value.to_object().slots, add);
    }
  }
  return found;
}

}  // namespace

GraphTracer::OpenSubgraph Subgraphs::record(const std::string& name, const IrBlock& block,
                                            const std::vector<NodeId>& operands,
                                            const std::function<void()>& run) {
  std::vector<NodeRef> captured;
  captured.reserve(operands.size());
  for (const NodeId operand : operands) captured.push_back(tracer_.ref(operand));
  tracer_.begin_subgraph(name);
  for (const NodeRef& operand : captured) tracer_.use(operand);
  bodies_.push_back({block.owning_node(), frames_.size() - 1});
  const Restore restore([this, stretch = state_.changes.begin_stretch(state_.changes.mark()),
                         known = state_.dimensions, assumed = recorder_.conditions.assumed()]() mutable {
    bodies_.pop_back();
    state_.changes.begin_stretch(stretch);
    recorder_.conditions.set_assumed(std::move(assumed));
    // Symbols that were made inside stay declared: none is given twice.
    const auto before = known.ranges();
    for (const auto& [dimension, range] : state_.dimensions.ranges()) {
      if (!std::ranges::binary_search(before, dimension, {}, &std::pair<std::string, Range>::first)) {
        known.narrow(dimension, range);
      }
    }
    state_.dimensions = std::move(known);
  });
  run();
  return tracer_.suspend_subgraph();
}

bool Subgraphs::is_from_around(const Value& container) {
  if (bodies_.empty()) return false;
  Body& body = bodies_.back();
  if (!body.around) {
    // Most often it is a variable of the same function.  All values of callers and modules take longer to
    // search.
    if (is_mutable(container) && frames_.holds_around(container, body.node, body.frame)) return true;
    Values around = frames_.values_around(body.node, body.frame);
    around.insert(around.end(), body.handed_in.begin(), body.handed_in.end());
    body.around = mutable_values(std::move(around));
  }
  return body.around->contains(container.identity());
}

void Subgraphs::check_choice(const Value& container, const std::string& what, const IrNode* node) {
  if (may_be_other_.contains(container.identity())) {
    frames_.fail(FailureKind::kDataDependentControlFlow,
                 what + ", and an `if` or a loop that depends on an input decides which one it is", node);
  }
}

void Subgraphs::check_change(const Value& container, const std::string& what, const IrNode* node) {
  check_choice(container, what, node);
  if (is_from_around(container)) {
    frames_.fail(FailureKind::kDataDependentControlFlow,
                 what + " inside an `if` or a loop that depends on an input", node);
  }
}

void Subgraphs::note_change(const Value& container, const std::string& name, const IrNode* node) {
  if (!is_from_around(container)) return check_change(container, name + " is changed", node);
  auto& changed = bodies_.back().changed;
  if (std::ranges::any_of(changed, [&](const auto& known) { return known.container.is(container); })) return;
  changed.push_back({name, container, copy_of(container), {}});
}

void Subgraphs::change(const Value& container, const Value& content, const std::string& name,
                       const IrNode* node) {
  note_change(container, name, node);
  state_.changes.remember(container);
  set_content(container, content);
}

std::vector<ChangedContainer> Subgraphs::take_changes() {
  std::vector<ChangedContainer> changed = std::move(bodies_.back().changed);
  for (ChangedContainer& change : changed) {
    change.after = copy_of(change.container);
    set_content(change.container, change.before);
  }
  return changed;
}

void Subgraphs::may_be_another(const Value& container, const Values& others, const IrNode* node) {
  const auto around = mutable_values(frames_.values_around(node, frames_.size() - 1));
  const auto add = [&](const Value& value) {
    const void* identity = value.identity();
    if (!may_be_other_.emplace(identity, value).second) return;
    state_.changes.add([this, identity] { may_be_other_.erase(identity); });
  };
  for (const Value& other : others) {
    if (!around.contains(other.identity())) continue;
    add(other);
    add(container);
  }
}

Argument Subgraphs::unread_value(const TypePtr& type, const AbstractValue& known) {
  switch (leaf_kind(*type)) {
    case LeafKind::kInt:
      return 0;
    case LeafKind::kBool:
      return false;
    case LeafKind::kFloat:
      return 0.0;
    default:
      break;
  }
  const TensorInfo* info = known.tensor();
  const bool is_known = info != nullptr && info->is_static() && info->dtype;
  Argument::List sizes;
  Kwargs kwargs;
  if (is_known) {
    for (const SymInt& size : info->sizes) sizes.items.emplace_back(*size.number());
    kwargs.emplace_back("dtype", Argument::Dtype{dtype_name(*info->dtype)});
  } else {
    sizes.items.emplace_back(0);
  }
  return tracer_.call_function("aten.zeros.default", {std::move(sizes)}, std::move(kwargs),
                               meta_of(tensor_type(), is_known ? known : AbstractValue{}), std::nullopt);
}

Argument Subgraphs::result(const Value& value, const TypePtr& type, const AbstractValue& known,
                           const IrNode* node) {
  if (value.is_uninitialized()) return unread_value(type, known);
  Argument result = recorder_.argument(value, node);
  const auto* id = result.get_if<NodeId>();
  if (id == nullptr || leaf_kind(*type) != LeafKind::kTensor) return result;
  const internal::Node& given = tracer_.graph().node(*id);
  if (given.op != Opcode::kPlaceholder && given.op != Opcode::kGetAttr) return result;
  return tracer_.call_function("aten.clone.default", {*id}, {}, given.meta, std::nullopt);
}

Argument Subgraphs::carried_argument(const Value& value, const TypePtr& type, const AbstractValue& known,
                                     const IrNode* node) {
  switch (leaf_kind(*type)) {
    case LeafKind::kBool:
      if (value.is_bool()) return std::int64_t{value.to_bool()};
      if (value.is_uninitialized()) return 0;
      return recorder_.argument(recorder_.apply("builtins.int", {value}, int_type(), node), node);
    case LeafKind::kFloat:
      return recorder_.argument(
          recorder_.call("aten.scalar_tensor.default", {result(value, type, known, node)}, tensor_type(),
                         node, carried_knowledge(*type, {}, run_.shapes),
                         {{"dtype", Argument::Dtype{"float64"}}}),
          node);
    default:
      return result(value, type, known, node);
  }
}

Value Subgraphs::carried_value(NodeId carried, const TypePtr& type, AbstractValue known, const IrNode* node) {
  switch (leaf_kind(*type)) {
    case LeafKind::kBool:
      return recorder_.call("builtins.bool", {carried}, type, node);
    case LeafKind::kFloat:
      return recorder_.call("aten.item.default", {carried}, type, node);
    default:
      return make_proxy(tracer_.ref(carried), type, std::move(known));
  }
}

Value Subgraphs::carried_result(NodeId control_flow, std::int64_t index, const TypePtr& type,
                                AbstractValue known, const IrNode* node) {
  const Value item = recorder_.call("operator.getitem", {control_flow, index}, carried_type(type), node,
                                    carried_knowledge(*type, known, run_.shapes));
  return carried_value(find_proxy(item)->ref.node, type, std::move(known), node);
}

namespace {

// Returns whether this `if` is the only use of its condition: the caller of the function has none, nor has
// another iteration of a loop around it.
bool is_the_only_one_to_ask(const IrNode* node) {
  const IrValue* condition = node->input(0);
  return condition->node()->kind() == Symbol::kAtenBool &&
         condition->node()->owning_block() == node->owning_block() && condition->uses().size() == 1;
}

bool is_question(const internal::Node& node) {
  return node.target == "builtins.bool" && node.args.size() == 1 && node.args[0].is<NodeId>() &&
         node.users.empty();
}

bool has_nodes(const Graph& graph) {
  return graph.last().valid() && graph.node(graph.last()).op != Opcode::kPlaceholder;
}

}  // namespace

void GraphBranches::branch(const IrNode* node, const Value& condition) {
  if (const auto answer = propagation_.find_answer(condition); answer && answer->is_bool()) {
    const bool branch = answer->to_bool();
    const NodeId asked = tracer_.use(find_proxy(condition)->ref);
    if (is_the_only_one_to_ask(node) && is_question(tracer_.graph().node(asked))) tracer_.erase(asked);
    return code_.choose(node, branch);
  }
  recorder_.conditions.record_query(condition);
  if (!makes_subgraphs() || recorder_.conditions.asks_for_none(condition)) fail("an `if`", condition, node);
  record(node, condition);
}

// The guard that is written later has the whole expression.
bool GraphBranches::join_conditions(const IrNode* node, const Value& condition, bool is_and) {
  if (leave_out(node, condition, is_and)) {
    frames_.set(node, Value::uninitialized());
    return true;
  }
  if (find_proxy(condition) == nullptr) fail("an `if`", condition, node);
  if (makes_subgraphs()) return false;
  // It cannot be a guard, and an assertion takes a value: both operands are computed.
  const IrBlock& rest = *node->blocks()[is_and ? 0 : 1];
  code_.run_block(rest);
  const Value& other = frames_.value(rest.outputs()[0]);
  frames_.set(node, recorder_.apply(is_and ? "operator.and_" : "operator.or_", {condition, other},
                                    bool_type(), node));
  return true;
}

// The nodes that compute b are only looked at, and undone: b may never run.
bool GraphBranches::leave_out(const IrNode* node, const Value& condition, bool is_and) {
  recorder_.conditions.forget_uncomputed(node->output());
  std::optional<Expression> first = recorder_.conditions.find_expression(node->input(0), condition);
  if (!first) return false;
  const IrBlock& rest = *node->blocks()[is_and ? 0 : 1];
  std::optional<Expression> second;
  Checkpoint before = recorder_.checkpoint();
  const Restore restore([&] { recorder_.back_to(std::move(before)); });
  try {
    tracer_.look_at([&] {
      code_.run_block(rest);
      second = recorder_.conditions.find_expression(rest.outputs()[0], frames_.value(rest.outputs()[0]));
    });
  } catch (const TraceFailure&) {
    return false;
  } catch (const InputsAsked&) {
    return false;
  }
  if (!second) return false;
  std::vector<Expression> halves{*std::move(first), *std::move(second)};
  recorder_.conditions.note_uncomputed(
      node->output(), is_and ? Expression::all(std::move(halves)) : Expression::any(std::move(halves)));
  return true;
}

GraphBranches::Later GraphBranches::combined(const Value& first, const Value& second, const std::string& name,
                                             const IrNode* node, const OnDifference& on_difference) {
  const auto known = [](const Value& value) { return [value] { return value; }; };
  if (is_same(first, second)) return known(first);
  state_.measure(first, node);
  state_.measure(second, node);
  const bool is_first_missing = first.is_uninitialized();
  if (is_first_missing || second.is_uninitialized()) {
    const Value& there = is_first_missing ? second : first;
    if (is_plain(there)) return known(there);
    std::vector<Later> leaves;
    const Value form = map_leaves(there, [&](const Value& leaf) {
      leaves.push_back(is_plain(leaf)     ? known(leaf)
                       : is_first_missing ? on_difference(first, leaf)
                                          : on_difference(leaf, second));
      return leaf;
    });
    return [form, leaves] {
      auto next = leaves.begin();
      return map_leaves(form, [&](const Value&) { return (*next++)(); });
    };
  }
  const auto refuse = [&] {
    frames_.fail(FailureKind::kDataDependentControlFlow,
                 "an `if` depends on an input: " + recorder_.describe(frames_.input(node, 0)) + ", and " +
                     name + " is " + kind_text(first) + " or " + kind_text(second) +
                     " after it: only tensors and numbers can differ",
                 node);
  };
  if (const auto parts = matching_parts(first, second)) {
    std::vector<Later> items;
    for (const auto& [one, other] : *parts) items.push_back(combined(one, other, name, node, on_difference));
    const auto note = [this, first, second, node](const Value& result) {
      if (!first.is_tuple()) subgraphs_.may_be_another(result, {first, second}, node);
    };
    note(Value());  // neither may be changed from now on
    return [first, items, note] {
      Values made;
      for (const Later& item : items) made.push_back(item());
      Value result = with_parts(first, std::move(made));
      note(result);
      return result;
    };
  }
  const LeafKind kind = leaf_kind(*dynamic_type(first));
  if (kind == LeafKind::kOther || kind != leaf_kind(*dynamic_type(second))) refuse();
  return on_difference(first, second);
}

// Takes the tensor of bool(tensor), if it is a bool tensor and nothing else uses the condition: compilers
// prefer a tensor to a Python bool.
Argument GraphBranches::predicate(const IrNode* node, const Value& condition) {
  const NodeId asked = tracer_.use(find_proxy(condition)->ref);
  const internal::Node& question = tracer_.graph().node(asked);
  if (!is_question(question) || !is_the_only_one_to_ask(node)) return asked;
  const NodeId tensor = *question.args[0].get_if<NodeId>();
  const internal::Node& made_by = tracer_.graph().node(tensor);
  const bool gives_bool =
      made_by.op == Opcode::kCallFunction &&
      internal::has_trait(internal::find_operator(parse_target(made_by.target)), traits::kGivesBool);
  if (!gives_bool && made_by.meta->dtype != ScalarType::kBool) return asked;
  tracer_.erase(asked);
  return tensor;
}

void GraphBranches::record(const IrNode* node, const Value& condition) {
  const Checkpoint attempt = recorder_.checkpoint();
  const std::array<std::string, 2> names{tracer_.next_subgraph("true"), tracer_.next_subgraph("false")};
  std::array<Values, 2> results;
  std::array<std::vector<ChangedContainer>, 2> changes;
  std::vector<GraphTracer::OpenSubgraph> bodies;
  std::optional<std::unordered_set<const void*>> around;  // the same for both
  for (std::size_t i = 0; i < results.size(); ++i) {
    const bool branch = i == 0;
    const IrBlock& block = *node->blocks()[i];
    try {
      bodies.push_back(
          subgraphs_.record(names[i], block, branch ? std::vector<NodeId>{} : bodies[0]->captured(), [&] {
            recorder_.conditions.expect(condition, branch);
            subgraphs_.innermost().around = std::move(around);
            code_.run_block(block);
            results[i] = frames_.outputs(block);
            changes[i] = subgraphs_.take_changes();
            around = std::move(subgraphs_.innermost().around);
          }));
    } catch (const TraceFailure& thrown) {
      if (thrown.failure.kind != FailureKind::kRaised) throw;
      // Code after the `if` only runs if the other branch was taken.
      recorder_.back_to(attempt);
      recorder_.conditions.assume(node, condition, !branch);
      return code_.choose(node, !branch);
    }
  }

  struct Difference {
    std::array<Value, 2> values;
    TypePtr type;
    AbstractValue known;
  };
  std::vector<Difference> differences;
  bool gives_condition = false;
  NodeId cond;
  const auto on_difference = [&](const Value& first, const Value& second) -> Later {
    if (first.is_bool() && second.is_bool()) {
      gives_condition = true;
      return [this, &condition, node, when_true = first.to_bool()] {
        if (when_true) return condition;
        return recorder_.apply("operator.not_", {condition}, bool_type(), node);
      };
    }
    Difference made{{first, second}, dynamic_type(first.is_uninitialized() ? second : first), {}};
    if (run_.shapes) {
      made.known = first.is_uninitialized()    ? known_of_value(second)
                   : second.is_uninitialized() ? known_of_value(first)
                                               : propagation_.either(first, second);
      forget_contents(made.known);
    }
    differences.push_back(std::move(made));
    return [this, &cond, &differences, node, index = differences.size() - 1] {
      const auto& [values, type, known] = differences[index];
      Value either = subgraphs_.carried_result(cond, static_cast<std::int64_t>(index), type, known, node);
      propagation_.note_choice(either, {values[0], values[1]});
      return either;
    };
  };
  // Containers that either branch changes: `before` is the content after the first branch, `after` that after
  // the second.
  std::vector<ChangedContainer> containers = std::move(changes[0]);
  for (ChangedContainer& container : containers)
    container.before = std::exchange(container.after, container.before);
  for (ChangedContainer& change : changes[1]) {
    const auto known = std::ranges::find_if(
        containers, [&](const auto& container) { return container.container.is(change.container); });
    (known == containers.end() ? containers.emplace_back(change) : *known).after = change.after;
  }
  std::vector<Later> contents, outputs;
  for (const ChangedContainer& each : containers)
    contents.push_back(combined(each.before, each.after, each.name, node, on_difference));
  for (std::size_t i = 0; i < node->outputs().size(); ++i) {
    const IrValue* output = node->outputs()[i];
    outputs.push_back(output->has_uses()
                          ? combined(results[0][i], results[1][i], name_of(output), node, on_difference)
                          : nullptr);
  }
  for (const ChangedContainer& each : containers)  // a joint value that was made of it would be another then
    subgraphs_.check_choice(each.container, each.name + " is changed", node);
  const auto set_results = [&] {
    for (std::size_t i = 0; i < containers.size(); ++i)
      subgraphs_.change(containers[i].container, contents[i](), containers[i].name, node);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i]) frames_.set(node->outputs()[i], outputs[i]());
    }
  };
  const bool is_empty =
      std::ranges::none_of(bodies, [](const auto& body) { return has_nodes(body->graph()); });
  if (is_empty && differences.empty()) {
    recorder_.back_to(attempt);
    return set_results();
  }

  for (std::size_t i = 0; i < bodies.size(); ++i) {
    tracer_.resume_subgraph(bodies[i]);
    Argument::Tuple items;
    for (const Difference& difference : differences) {
      items.items.push_back(
          subgraphs_.carried_argument(difference.values[i], difference.type, difference.known, node));
    }
    tracer_.output(std::move(items), Meta{});
    bodies[i] = tracer_.suspend_subgraph();
  }
  const std::vector<NodeId> operands = tracer_.end_subgraphs(bodies);
  const Argument asked = gives_condition ? recorder_.argument(condition, node) : predicate(node, condition);
  Argument::List given;
  for (const NodeId operand : operands) given.items.emplace_back(operand);
  std::vector<TypePtr> types;
  for (const Difference& difference : differences) types.push_back(carried_type(difference.type));
  cond = tracer_.call_with_subgraphs(
      "higher_order.cond",
      {asked, Argument::GraphRef{names[0]}, Argument::GraphRef{names[1]}, std::move(given)}, {},
      meta_of(tuple_type(types)), frames_.location(node), "", operands);
  set_results();
}

}  // namespace fxtrace::internal::interpreter
