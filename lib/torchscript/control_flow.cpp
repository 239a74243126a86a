// Branches, loops and exceptions: followed where plain values decide, assumed where only an exception hangs
// on them.

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "support/restore.h"
#include "torchscript/abstract.h"
#include "torchscript/convert.h"
#include "torchscript/interpreter.h"
#include "torchscript/pure_code.h"
#include "trace/condition.h"

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
  return constant_bool(block.outputs()[0]);
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

}  // namespace

void Interpreter::choose(const IrNode* node, bool branch) {
  const IrBlock& block = *node->blocks()[branch ? 0 : 1];
  run_block(block);
  Values results = run_.frames.outputs(block);
  for (std::size_t i = 0; i < results.size(); ++i) {
    run_.frames.set(node->outputs()[i], std::move(results[i]));
    run_.conditions.leave_out_as(node->outputs()[i], block.outputs()[i]);
  }
}

void Interpreter::run_if(const IrNode* node) {
  const Value condition = run_.frames.input(node, 0);
  if (condition.is_bool()) return choose(node, condition.to_bool());
  if (const auto decided = run_.conditions.decide(condition)) return choose(node, *decided);
  if (assume(node, condition)) return;
  run_.conditions.ask(condition);
  if (run_.mode == Mode::kAbstract && run_both(node)) return;
  if (run_.makes_subgraphs() && !run_.conditions.asks_for_none(condition))
    return record_branches(node, condition);
  run_.frames.fail(FailureKind::kDataDependentControlFlow,
                   "an `if` depends on " + run_.recording.what_decides(condition) + ": " +
                       run_.recording.describe(condition) + run_.conditions.explain(condition),
                   node);
}

// Takes the branch that raises nothing, when the `if` is there for an exception only.
bool Interpreter::assume(const IrNode* node, const Value& condition) {
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
  leave_out(node, condition, circuit->is_and);
  run_.frames.set(node, Value::uninitialized());
  return true;
}

// Keeps what `a and b` or `a or b` is.  What works out b is looked at and taken back: it may never run.
void Interpreter::leave_out(const IrNode* node, const Value& condition, bool is_and) {
  run_.conditions.forget_left_out(node->output());
  std::optional<Expression> first = run_.conditions.find_expression(node->input(0), condition);
  if (!first || !run_.records()) return;
  const IrBlock& rest = *node->blocks()[is_and ? 0 : 1];
  std::optional<Expression> second;
  Checkpoint before = run_.checkpoint();
  const Restore restore([&] { run_.back_to(std::move(before)); });
  try {
    run_.tracer->look_at([&] {
      run_block(rest);
      second = run_.conditions.find_expression(rest.outputs()[0], run_.frames.value(rest.outputs()[0]));
    });
  } catch (const TraceFailure&) {
    return;
  } catch (const InputsAsked&) {
    return;
  }
  if (!second) return;
  std::vector<Expression> halves{*std::move(first), *std::move(second)};
  run_.conditions.leave_out(node->output(),
                            is_and ? Expression::all(std::move(halves)) : Expression::any(std::move(halves)));
}

// Both ways of an `if`, when nothing but its results can tell which was taken.
bool Interpreter::run_both(const IrNode* node) {
  const Checkpoint before = run_.checkpoint();
  const Restore restore([this, outer = std::exchange(run_.both_ways, true)] { run_.both_ways = outer; });
  std::array<Values, 2> results;
  std::array<bool, 2> raises{};
  std::array<CostLog::Mark, 2> costs;
  for (std::size_t branch = 0; branch < results.size(); ++branch) {
    const IrBlock& block = *node->blocks()[branch];
    if (run_.costs != nullptr) costs[branch] = run_.costs->mark();
    try {
      run_block(block);
    } catch (const TraceFailure& thrown) {
      // Whatever comes after the `if` has taken the other branch.
      if (thrown.failure.kind != FailureKind::kRaised || raises[0]) throw;
      raises[branch] = true;
      run_.back_to(before);
      if (run_.costs != nullptr) run_.costs->undo_to(costs[branch]);
      continue;
    }
    if (run_.changes.mark() != before.changes) return false;
    results[branch] = run_.frames.outputs(block);
  }
  if (raises[0] || raises[1]) {
    Values& left = results[raises[0] ? 1 : 0];
    for (std::size_t i = 0; i < left.size(); ++i) run_.frames.set(node->outputs()[i], std::move(left[i]));
    return true;
  }
  if (run_.costs != nullptr) run_.costs->choose(costs[0], costs[1]);
  for (std::size_t i = 0; i < results[0].size(); ++i) {
    const Value& first = results[0][i];
    const Value& second = results[1][i];
    run_.frames.set(node->outputs()[i],
                    is_plain(first) && is_plain(second) && are_equal(first, second)
                        ? first
                        : make_proxy(NodeRef{}, node->outputs()[i]->type(), merged(first, second)));
  }
  return true;
}

// What is known of a value that is one of the two.
AbstractValue Interpreter::merged(const Value& first, const Value& second) {
  AbstractValue known = known_of_value(first);
  const AbstractValue other = known_of_value(second);
  if (known == other) return known;
  auto* info = std::get_if<TensorInfo>(&known.value);
  if (info == nullptr || other.tensor() == nullptr || info->dim() != other.tensor()->dim()) return {};
  info->content = nullptr;
  if (info->dtype != other.tensor()->dtype) info->dtype.reset();
  for (std::size_t i = 0; i < info->sizes.size(); ++i) {
    if (!(info->sizes[i] == other.tensor()->sizes[i])) info->sizes[i] = run_.dimensions.fresh();
  }
  return known;
}

void Interpreter::run_loop(const IrNode* node) {
  Value limit = run_.frames.input(node, 0);
  Value condition = run_.frames.input(node, 1);
  if (const Proxy* proxy = run_.recording.find_recorded(limit)) {
    const auto known = integer_of({run_.tracer->graph_of(proxy->ref), proxy->ref.graph.index},
                                  proxy->ref.node, run_.dimensions);
    if (const auto number = known ? run_.dimensions.simplify(*known).number() : std::nullopt) limit = *number;
  }
  if (!limit.is_int()) {
    run_.conditions.ask(limit);
    if (run_.makes_subgraphs()) return record_while(node);
    run_.frames.fail(FailureKind::kDataDependentControlFlow,
                     "the length of a loop depends on " + run_.recording.what_decides(limit) + ": " +
                         run_.recording.describe(limit) + run_.conditions.explain(limit),
                     node);
  }
  const IrBlock& body = *node->blocks()[0];
  std::optional<Attempt> start;
  if (run_.makes_subgraphs()) start = run_.begin_attempt();
  Values carried;
  for (std::size_t i = 2; i < node->inputs().size(); ++i) carried.push_back(run_.frames.input(node, i));
  for (std::int64_t trip = 0; trip < limit.to_int(); ++trip) {
    if (!condition.is_bool()) {
      run_.conditions.ask(condition);
      if (start) {
        run_.undo(*start);
        return record_while(node);
      }
      run_.frames.fail(FailureKind::kDataDependentControlFlow,
                       "whether a loop goes on depends on " + run_.recording.what_decides(condition) + ": " +
                           run_.recording.describe(condition) + run_.conditions.explain(condition),
                       node);
    }
    if (!condition.to_bool()) break;
    run_.count_step(node);
    run_.frames.set(body.inputs()[0], trip);
    for (std::size_t i = 0; i < carried.size(); ++i)
      run_.frames.set(body.inputs()[i + 1], std::move(carried[i]));
    run_block(body);
    Values results = run_.frames.outputs(body);
    condition = std::move(results[0]);
    carried.assign(std::make_move_iterator(results.begin() + 1), std::make_move_iterator(results.end()));
  }
  for (std::size_t i = 0; i < carried.size(); ++i) run_.frames.set(node->outputs()[i], std::move(carried[i]));
}

void Interpreter::raise(const IrNode* node) {
  const Value& message = run_.frames.input(node, 0);
  std::string type = "Exception";
  if (node->inputs().size() > 1 && run_.frames.input(node, 1).is_string()) {
    type = run_.frames.input(node, 1).to_string();
    type = type.substr(type.rfind('.') + 1);
  }
  std::string text = message.is_string() ? message.to_string() : "";
  if (text.rfind("AssertionError: ", 0) == 0 || type.empty()) {
    run_.frames.fail(FailureKind::kRaised, readable_message(text), node);
  }
  run_.frames.fail(FailureKind::kRaised, text.empty() ? type : type + ": " + readable_message(text), node);
}

}  // namespace fxtrace::torchscript
