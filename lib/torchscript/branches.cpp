#include "torchscript/branches.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_set>
#include <vector>

#include "support/qualified_name.h"
#include "support/restore.h"
#include "torchscript/abstract.h"
#include "torchscript/convert.h"
#include "torchscript/pure_code.h"
#include "torchscript/run.h"
#include "torchscript/structure.h"

namespace fxtrace::torchscript {
namespace {

bool always_raises(const IrBlock& block) {
  return std::any_of(block.nodes().begin(), block.nodes().end(), [](const IrNode* node) {
    if (node->kind() == Symbol::kPrimRaiseException) return true;
    return node->kind() == Symbol::kPrimIf && always_raises(*node->blocks()[0]) &&
           always_raises(*node->blocks()[1]);
  });
}

// The constant that the block gives back as its only result, when it does nothing else.
std::optional<bool> constant_result(const IrBlock& block) {
  if (block.outputs().size() != 1) return std::nullopt;
  return constant_of<bool>(*block.outputs()[0]);
}

// The branch of an `if` that is left when an exception is all that the other one is for.
std::optional<bool> branch_without_raise(const IrNode* node) {
  const bool first = always_raises(*node->blocks()[0]);
  const bool second = always_raises(*node->blocks()[1]);
  if (first == second) return std::nullopt;
  return second;
}

// How `a and b`, `a or b` are written: an `if` with one boolean result, one branch a constant.
struct ShortCircuit {
  bool is_and;
};
std::optional<ShortCircuit> short_circuit(const IrNode* node) {
  if (node->outputs().size() != 1 || node->output()->type()->kind() != TypeKind::kBool) return std::nullopt;
  if (constant_result(*node->blocks()[1]) == false) return ShortCircuit{true};
  if (constant_result(*node->blocks()[0]) == true) return ShortCircuit{false};
  return std::nullopt;
}

// What the value must be for no exception to be raised, when nothing but that hangs on it.
std::optional<bool> required(const IrValue* value) {
  if (value->uses().size() != 1) return std::nullopt;
  const IrNode* user = value->uses()[0].user;
  if (user->kind() == Symbol::kAtenNot) {
    const auto negated = required(user->output());
    return negated ? std::optional<bool>(!*negated) : std::nullopt;
  }
  // Result of a block: what the `if` around it must give.
  if (user->kind() == Symbol::kPrimReturn && user->owning_block()->owning_node() != nullptr) {
    const IrNode* outer = user->owning_block()->owning_node();
    if (outer->kind() == Symbol::kPrimIf && short_circuit(outer)) return required(outer->output());
    return std::nullopt;
  }
  if (user->kind() != Symbol::kPrimIf) return std::nullopt;
  if (const auto branch = branch_without_raise(user)) return branch;
  const auto circuit = short_circuit(user);
  if (!circuit) return std::nullopt;
  const auto result = required(user->output());
  if (!result) return std::nullopt;
  if (circuit->is_and && *result) return true;
  if (!circuit->is_and && !*result) return false;
  return std::nullopt;
}

// Whether the value only decides, through any `and` and `or`, about exceptions.
bool only_guards(const IrValue* value) {
  return std::all_of(value->uses().begin(), value->uses().end(), [](const IrUse& use) {
    const IrNode* user = use.user;
    if (user->kind() == Symbol::kPrimReturn && user->owning_block()->owning_node() != nullptr) {
      const IrNode* outer = user->owning_block()->owning_node();
      return outer->kind() == Symbol::kPrimIf && short_circuit(outer) && only_guards(outer->output());
    }
    if (user->kind() != Symbol::kPrimIf) return false;
    return branch_without_raise(user).has_value() || (short_circuit(user) && only_guards(user->output()));
  });
}

// Whether nothing but this `if` asks for its condition: not the caller of a function that takes it, and no
// other turn of a loop around it.
bool is_the_only_one_to_ask(const IrNode* node) {
  const IrValue* condition = node->input(0);
  return condition->node()->kind() == Symbol::kAtenBool &&
         condition->node()->owning_block() == node->owning_block() && condition->uses().size() == 1;
}

bool is_question(const fxtrace::Node& node) {
  return node.target == "builtins.bool" && node.args.size() == 1 && node.args[0].is<NodeId>() &&
         node.users.empty();
}

bool has_nodes(const Graph& graph) {
  return graph.last().valid() && graph.node(graph.last()).op != Opcode::kPlaceholder;
}

}  // namespace

void Branches::choose(const IrNode* node, bool branch) {
  const IrBlock& block = *node->blocks()[branch ? 0 : 1];
  run_.blocks.run_block(block);
  Values results = frames_.outputs(block);
  for (std::size_t i = 0; i < results.size(); ++i) {
    frames_.set(node->outputs()[i], std::move(results[i]));
    run_.conditions.leave_out_as(node->outputs()[i], block.outputs()[i]);
  }
}

void Branches::run(const IrNode* node) {
  const Value condition = frames_.input(node, 0);
  if (condition.is_bool()) return choose(node, condition.to_bool());
  if (const auto decided = run_.conditions.decide(condition)) return choose(node, *decided);
  if (assume(node, condition)) return;
  if (const auto answer = run_.knowledge.find_answer(condition); answer && answer->is_bool()) {
    const bool branch = answer->to_bool();
    const NodeId asked = run_.tracer->use(find_proxy(condition)->ref);
    if (is_the_only_one_to_ask(node) && is_question(run_.tracer->graph().node(asked)))
      run_.tracer->erase(asked);
    return choose(node, branch);
  }
  run_.conditions.ask(condition);
  if (run_.mode == Mode::kAbstract && run_both(node)) return;
  if (run_.makes_subgraphs() && !run_.conditions.asks_for_none(condition)) return record(node, condition);
  run_.conditions.fail("an `if`", condition, node);
}

// Takes the branch that raises nothing, when the `if` is there for an exception only.
bool Branches::assume(const IrNode* node, const Value& condition) {
  const bool known = find_proxy(condition) != nullptr;  // else a part of an expression that was left out
  if (const auto branch = branch_without_raise(node)) {
    run_.conditions.assume(node, condition, *branch);
    choose(node, *branch);
    return true;
  }
  const auto circuit = short_circuit(node);
  if (!circuit) return false;
  const auto result = required(node->output());
  if (known && result && *result == circuit->is_and) {
    // `assert a and b`: both must hold.  `if a or b: raise`: neither may.
    run_.conditions.assume(node, condition, circuit->is_and);
    choose(node, circuit->is_and);
    return true;
  }
  if (!only_guards(node->output()) || !is_pure(*node->blocks()[0]) || !is_pure(*node->blocks()[1]))
    return false;
  // Which half decides is not known, and need not be: the guard is the whole expression.
  if (!run_.records() || leave_out(node, condition, circuit->is_and)) {
    frames_.set(node, Value::uninitialized());
    return true;
  }
  if (!known) run_.conditions.fail("an `if`", condition, node);
  if (run_.makes_subgraphs()) return false;
  // No guard can say it, and an assertion takes a value: both halves are worked out.
  const IrBlock& rest = *node->blocks()[circuit->is_and ? 0 : 1];
  run_.blocks.run_block(rest);
  const char* target = circuit->is_and ? "operator.and_" : "operator.or_";
  const Value& other = frames_.value(rest.outputs()[0]);
  frames_.set(node, run_.recording.apply(target, {condition, other}, bool_type(), node));
  return true;
}

// Keeps what `a and b` or `a or b` is, where that can be said over the inputs.  What works out b is looked at
// and taken back: it may never run.
bool Branches::leave_out(const IrNode* node, const Value& condition, bool is_and) {
  run_.conditions.forget_left_out(node->output());
  std::optional<Expression> first = run_.conditions.find_expression(node->input(0), condition);
  if (!first) return false;
  const IrBlock& rest = *node->blocks()[is_and ? 0 : 1];
  std::optional<Expression> second;
  Checkpoint before = run_.checkpoint();
  const Restore restore([&] { run_.back_to(std::move(before)); });
  try {
    run_.tracer->look_at([&] {
      run_.blocks.run_block(rest);
      second = run_.conditions.find_expression(rest.outputs()[0], frames_.value(rest.outputs()[0]));
    });
  } catch (const TraceFailure&) {
    return false;
  } catch (const InputsAsked&) {
    return false;
  }
  if (!second) return false;
  std::vector<Expression> halves{*std::move(first), *std::move(second)};
  run_.conditions.leave_out(node->output(),
                            is_and ? Expression::all(std::move(halves)) : Expression::any(std::move(halves)));
  return true;
}

// Both ways of an `if`, when nothing but its results can tell which was taken.
bool Branches::run_both(const IrNode* node) {
  const Checkpoint before = run_.checkpoint();
  const Restore restore([this, outer = std::exchange(run_.both_ways, true)] { run_.both_ways = outer; });
  std::array<Values, 2> results;
  std::array<bool, 2> raises{};
  std::array<CostLog::Mark, 2> costs;
  for (std::size_t branch = 0; branch < results.size(); ++branch) {
    const IrBlock& block = *node->blocks()[branch];
    if (run_.costs != nullptr) costs[branch] = run_.costs->mark();
    try {
      run_.blocks.run_block(block);
    } catch (const TraceFailure& thrown) {
      // Whatever comes after the `if` has taken the other branch.
      if (thrown.failure.kind != FailureKind::kRaised || raises[0]) throw;
      raises[branch] = true;
      run_.back_to(before);
      if (run_.costs != nullptr) run_.costs->undo_to(costs[branch]);
      continue;
    }
    if (run_.changes.mark() != before.changes) return false;
    results[branch] = frames_.outputs(block);
  }
  if (raises[0] || raises[1]) {
    Values& left = results[raises[0] ? 1 : 0];
    for (std::size_t i = 0; i < left.size(); ++i) frames_.set(node->outputs()[i], std::move(left[i]));
    return true;
  }
  if (run_.costs != nullptr) run_.costs->choose(costs[0], costs[1]);
  for (std::size_t i = 0; i < results[0].size(); ++i) {
    const Value& first = results[0][i];
    const Value& second = results[1][i];
    if (is_plain(first) && is_plain(second) && are_equal(first, second)) {
      frames_.set(node->outputs()[i], first);
      continue;
    }
    Value either = make_proxy(NodeRef{}, node->outputs()[i]->type(), merged(first, second));
    run_.knowledge.note_choice(either, {first, second});
    frames_.set(node->outputs()[i], std::move(either));
  }
  return true;
}

// What is known of a value that is one of the two.
AbstractValue Branches::merged(const Value& first, const Value& second) {
  AbstractValue known = known_of_value(first);
  const AbstractValue other = known_of_value(second);
  if (known == other) return known;
  if (known.integer() != nullptr && other.integer() != nullptr) {
    const Range one = run_.dimensions.bounds(*known.integer()),
                two = run_.dimensions.bounds(*other.integer());
    Range either;
    if (one.low && two.low) either.low = std::min(*one.low, *two.low);
    if (one.high && two.high) either.high = std::max(*one.high, *two.high);
    return {run_.dimensions.fresh(either)};
  }
  auto* info = std::get_if<TensorInfo>(&known.value);
  if (info == nullptr || other.tensor() == nullptr || info->dim() != other.tensor()->dim()) return {};
  info->content = nullptr;
  if (info->dtype != other.tensor()->dtype) info->dtype.reset();
  for (std::size_t i = 0; i < info->sizes.size(); ++i) {
    if (!(info->sizes[i] == other.tensor()->sizes[i])) info->sizes[i] = run_.dimensions.fresh();
  }
  return known;
}

void Branches::raise(const IrNode* node) {
  const Value& message = frames_.input(node, 0);
  std::string type = "Exception";
  if (node->inputs().size() > 1 && frames_.input(node, 1).is_string()) {
    type = frames_.input(node, 1).to_string();
    type = std::string(QualifiedName(type).last());
  }
  std::string text = message.is_string() ? message.to_string() : "";
  if (text.rfind("AssertionError: ", 0) == 0 || type.empty()) {
    frames_.raise(readable_message(text), node);
  }
  frames_.raise(text.empty() ? type : type + ": " + readable_message(text), node);
}

Value Branches::combined(const Value& first, const Value& second, const std::string& name, const IrNode* node,
                         const OnDifference& on_difference) {
  if (is_same(first, second)) return first;
  recording_.measure(first, node);
  recording_.measure(second, node);
  const bool is_first_missing = first.is_uninitialized();
  if (is_first_missing || second.is_uninitialized()) {
    const Value& there = is_first_missing ? second : first;
    if (is_plain(there)) return there;
    const Value missing = Value::uninitialized();
    return map_leaves(there, [&](const Value& leaf) {
      return is_plain(leaf)     ? leaf
             : is_first_missing ? on_difference(missing, leaf)
                                : on_difference(leaf, missing);
    });
  }
  const auto refuse = [&] {
    frames_.fail(FailureKind::kDataDependentControlFlow,
                 "an `if` depends on an input: " + recording_.describe(frames_.input(node, 0)) + ", and " +
                     name + " is " + kind_text(first) + " or " + kind_text(second) +
                     " after it: only tensors and numbers can differ",
                 node);
  };
  auto parts = matching_parts(first, second);
  if (parts) {
    Values items;
    items.reserve(parts->size());
    for (const auto& [one, other] : *parts) items.push_back(combined(one, other, name, node, on_difference));
    Value result = with_parts(first, std::move(items));
    if (!result.is_tuple()) run_.subgraphs.may_be_another(result, {first, second}, node);
    return result;
  }
  const LeafKind kind = leaf_kind(*dynamic_type(first));
  if (kind == LeafKind::kOther || kind != leaf_kind(*dynamic_type(second))) refuse();
  return on_difference(first, second);
}

// A tensor where the question is one of a tensor, which compilers prefer to a bool of Python's.
Argument Branches::predicate(const IrNode* node, const Value& condition) {
  const NodeId asked = run_.tracer->use(find_proxy(condition)->ref);
  const fxtrace::Node& question = run_.tracer->graph().node(asked);
  if (!is_question(question) || !is_the_only_one_to_ask(node)) return asked;
  const NodeId tensor = *question.args[0].get_if<NodeId>();
  const fxtrace::Node& made_by = run_.tracer->graph().node(tensor);
  const bool gives_bool =
      made_by.op == Opcode::kCallFunction &&
      fxtrace::has_trait(fxtrace::find_operator(parse_target(made_by.target)), traits::kGivesBool);
  if (!gives_bool && made_by.meta->dtype != "bool") return asked;
  run_.tracer->erase(asked);
  return tensor;
}

void Branches::record(const IrNode* node, const Value& condition) {
  const Attempt attempt = run_.begin_attempt();
  const std::array<std::string, 2> names{run_.tracer->next_subgraph("true"),
                                         run_.tracer->next_subgraph("false")};
  std::array<Values, 2> results;
  std::array<std::vector<ChangedContainer>, 2> changes;
  std::vector<GraphTracer::OpenSubgraph> bodies;
  std::optional<std::unordered_set<const void*>> around;  // the same for both
  for (std::size_t i = 0; i < results.size(); ++i) {
    const bool branch = i == 0;
    const IrBlock& block = *node->blocks()[i];
    try {
      bodies.push_back(
          run_.subgraphs.record(names[i], block, branch ? std::vector<NodeId>{} : bodies[0]->captured(), [&] {
            run_.conditions.expect(condition, branch);
            run_.subgraphs.innermost().around = std::move(around);
            run_.blocks.run_block(block);
            results[i] = frames_.outputs(block);
            changes[i] = run_.subgraphs.take_changes();
            around = std::move(run_.subgraphs.innermost().around);
          }));
    } catch (const TraceFailure& thrown) {
      if (thrown.failure.kind != FailureKind::kRaised) throw;
      // Whatever comes after the `if` has taken the other way.
      run_.undo(attempt);
      run_.conditions.assume(node, condition, !branch);
      return choose(node, !branch);
    }
  }

  struct Difference {
    std::array<Value, 2> values;
    TypePtr type;
    AbstractValue known;
  };
  std::vector<Difference> differences;
  bool gives_condition = false;
  const auto is_condition = [&](const Value& first, const Value& second) {
    return first.is_bool() && second.is_bool();
  };
  // Containers that either way changes, with what each leaves in them.
  std::vector<ChangedContainer> containers = std::move(changes[0]);
  for (ChangedContainer& container : containers)
    container.before = std::exchange(container.after, container.before);
  for (ChangedContainer& change : changes[1]) {
    const auto known = std::ranges::find_if(
        containers, [&](const auto& container) { return container.container.is(change.container); });
    (known == containers.end() ? containers.emplace_back(change) : *known).after = change.after;
  }
  const auto for_each_result = [&](bool is_final, const auto& on_difference) {
    for (const ChangedContainer& container : containers) {
      const Value content = combined(container.before, container.after, container.name, node, on_difference);
      if (is_final) run_.subgraphs.change(container.container, content, container.name, node);
    }
    for (std::size_t i = 0; i < node->outputs().size(); ++i) {
      const IrValue* output = node->outputs()[i];
      if (!output->has_uses()) continue;
      frames_.set(output, combined(results[0][i], results[1][i], name_of(output), node, on_difference));
    }
  };
  for_each_result(false, [&](const Value& first, const Value& second) {
    if (is_condition(first, second)) {
      gives_condition = true;
    } else {
      differences.push_back({{first, second}, dynamic_type(first.is_uninitialized() ? second : first), {}});
      if (!run_.shapes) return Value();
      AbstractValue& known = differences.back().known;
      known = first.is_uninitialized()    ? known_of_value(second)
              : second.is_uninitialized() ? known_of_value(first)
                                          : merged(first, second);
      forget_contents(known);
    }
    return Value();
  });
  const auto condition_as = [&](bool when_true) {
    if (when_true) return condition;
    return recording_.apply("operator.not_", {condition}, bool_type(), node);
  };
  const bool is_empty =
      std::ranges::none_of(bodies, [](const auto& body) { return has_nodes(body->graph()); });
  if (is_empty && differences.empty()) {
    run_.undo(attempt);
    for_each_result(true, [&](const Value& first, const Value&) { return condition_as(first.to_bool()); });
    return;
  }

  for (std::size_t i = 0; i < bodies.size(); ++i) {
    run_.tracer->resume_subgraph(bodies[i]);
    Argument::Tuple items;
    for (const Difference& difference : differences) {
      items.items.push_back(
          run_.subgraphs.carried_argument(difference.values[i], difference.type, difference.known, node));
    }
    run_.tracer->output(std::move(items), Meta{});
    bodies[i] = run_.tracer->suspend_subgraph();
  }
  const std::vector<NodeId> operands = run_.tracer->end_subgraphs(bodies);
  const Argument asked = gives_condition ? recording_.argument(condition, node) : predicate(node, condition);
  Argument::List given;
  for (const NodeId operand : operands) given.items.emplace_back(operand);
  std::vector<TypePtr> types;
  for (const Difference& difference : differences) types.push_back(carried_type(difference.type));
  const NodeId cond = run_.tracer->call_with_subgraphs(
      "higher_order.cond",
      {asked, Argument::GraphRef{names[0]}, Argument::GraphRef{names[1]}, std::move(given)}, {},
      meta_of(tuple_type(types)), frames_.location(node), "", operands);
  std::size_t next = 0;
  for_each_result(true, [&](const Value& first, const Value& second) {
    if (is_condition(first, second)) return condition_as(first.to_bool());
    const Difference& difference = differences[next];
    const auto index = static_cast<std::int64_t>(next++);
    Value either = run_.subgraphs.carried_result(cond, index, difference.type, difference.known, node);
    run_.knowledge.note_choice(either, {first, second});
    return either;
  });
}

}  // namespace fxtrace::torchscript
