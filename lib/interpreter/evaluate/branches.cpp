#include "interpreter/evaluate/branches.h"

#include <algorithm>
#include <optional>

#include "interpreter/code/pure_code.h"
#include "interpreter/evaluate/evaluator.h"
#include "interpreter/program/convert.h"
#include "support/text/qualified_name.h"

namespace fxtrace::internal::interpreter {
namespace {

bool always_raises(const IrBlock& block) {
  return std::any_of(block.nodes().begin(), block.nodes().end(), [](const IrNode* node) {
    if (node->kind() == Symbol::kPrimRaiseException) return true;
    return node->kind() == Symbol::kPrimIf && always_raises(*node->blocks()[0]) &&
           always_raises(*node->blocks()[1]);
  });
}

// Returns the constant that is the block's only result, if it is one.
std::optional<bool> constant_result(const IrBlock& block) {
  if (block.outputs().size() != 1) return std::nullopt;
  return constant_of<bool>(*block.outputs()[0]);
}

// Returns the branch of an `if` whose other branch always raises; nothing when none or both do.
std::optional<bool> branch_without_raise(const IrNode* node) {
  const bool first = always_raises(*node->blocks()[0]);
  const bool second = always_raises(*node->blocks()[1]);
  if (first == second) return std::nullopt;
  return second;
}

// The form of `a and b` and `a or b` in the IR: an `if` with one boolean result, one branch of which is a
// constant.
struct ShortCircuit {
  bool is_and;
};
std::optional<ShortCircuit> short_circuit(const IrNode* node) {
  if (node->outputs().size() != 1 || node->output()->type()->kind() != TypeKind::kBool) return std::nullopt;
  if (constant_result(*node->blocks()[1]) == false) return ShortCircuit{true};
  if (constant_result(*node->blocks()[0]) == true) return ShortCircuit{false};
  return std::nullopt;
}

// Returns the value that the condition must have for no exception to be raised; nothing when it decides
// anything else.
std::optional<bool> required(const IrValue* value) {
  if (value->uses().size() != 1) return std::nullopt;
  const IrNode* user = value->uses()[0].user;
  if (user->kind() == Symbol::kAtenNot) {
    const auto negated = required(user->output());
    return negated ? std::optional<bool>(!*negated) : std::nullopt;
  }
  // The value is the result of a block: the `if` around it must have the required result.
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

// Returns whether the value decides about exceptions only, through any `and` and `or`.
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

void Branches::choose(const IrNode* node, bool branch) {
  const IrBlock& block = *node->blocks()[branch ? 0 : 1];
  code_.run_block(block);
  Values results = frames_.outputs(block);
  const bool is_only_one = frames_.is_constant(node->input(0));
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (is_only_one && frames_.is_constant(block.outputs()[i])) frames_.note_constant(node->outputs()[i]);
    frames_.set(node->outputs()[i], std::move(results[i]));
    if (recorder_.records()) recorder_.conditions.note_uncomputed_as(node->outputs()[i], block.outputs()[i]);
  }
}

void Branches::run(const IrNode* node) {
  const Value condition = frames_.input(node, 0);
  if (condition.is_bool()) return choose(node, condition.to_bool());
  if (const auto decided = recorder_.conditions.decide(condition)) return choose(node, *decided);
  if (!assume(node, condition)) code_.branch(node, condition);
}

// Takes the branch that does not raise.
bool Branches::assume(const IrNode* node, const Value& condition) {
  if (const auto branch = branch_without_raise(node)) {
    recorder_.assume(node, condition, *branch);
    choose(node, *branch);
    return true;
  }
  const auto circuit = short_circuit(node);
  if (!circuit) return false;
  const auto result = required(node->output());
  const bool known = find_proxy(condition) != nullptr;  // a condition that was not computed has none
  if (known && result && *result == circuit->is_and) {
    // `assert a and b`: both must hold.  `if a or b: raise`: neither may.
    recorder_.assume(node, condition, circuit->is_and);
    choose(node, circuit->is_and);
    return true;
  }
  // It need not be known which operand decides: the guard is the whole expression.
  return only_guards(node->output()) && is_pure(*node->blocks()[0]) && is_pure(*node->blocks()[1]) &&
         code_.join_conditions(node, condition, circuit->is_and);
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

}  // namespace fxtrace::internal::interpreter
