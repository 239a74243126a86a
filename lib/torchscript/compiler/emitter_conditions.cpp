// The part of the Emitter (emitter.h) for conditions and the type refinements that follow from them,
// branches, and loops.
#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "support/error.h"
#include "torchscript/compiler/emitter.h"

namespace fxtrace::internal::torchscript {

// --- type refinements by conditions ---

Condition Emitter::constant_condition(bool value, const SourceRange& range, Refinements refinements) {
  return {constant(ScriptConstant(value), range), std::move(refinements), value};
}

Condition Emitter::emit_condition(const Tree& expression) {
  if (expression.is(Syntax::kBinary) &&
      (expression.token == TokenKind::kIs || expression.token == TokenKind::kIsNot))
    return emit_is(expression);
  const SourceRange range = range_of(expression);
  if (expression.is(Syntax::kUnary) && expression.token == TokenKind::kNot) {
    Condition inner = emit_condition(expression.part(0));
    inner.value = call_builtin(Symbol::kAtenNot, {inner.value}, range);
    inner.refinements = inner.refinements.negated();
    if (inner.known) inner.known = !*inner.known;
    return inner;
  }
  if (expression.is(Syntax::kCall) && expression.part(0).is(Syntax::kName) &&
      expression.part(0).text == "isinstance")
    return emit_isinstance(expression);
  Condition result;
  result.value = emit_to_bool(emit(expression), range);
  // Constants and two operators are known while the code is compiled.
  const IrNode* node = result.value->node();
  if (const ScriptConstant* value = node->constant()) {
    if (const bool* known = value->get_if<bool>()) result.known = *known;
  } else if (to_text(node->kind()) == "aten::is_scripting") {
    result.known = true;
  } else if (to_text(node->kind()) == "aten::has_torch_function") {
    result.known = false;
  }
  return result;
}

IrValue* Emitter::emit_to_bool(IrValue* value, const SourceRange& range) {
  expect(*value, bool_type());
  if (*value->type() == *bool_type()) return value;
  IrValue* result = nullptr;
  try {
    result = as_value(call(sugared_magic("__bool__", sugared_cast(bool_type(), Symbol::kAtenBool)),
                           {range, {{range, {}, value}}, {}, {}}),
                      range);
  } catch (const Error&) {
    throw SourceError(range, "Could not cast value of type " + value->type()->repr_str() + " to bool");
  }
  if (result->type()->kind() != TypeKind::kBool)
    throw SourceError(range,
                      "expected a bool expression for condition but found " + result->type()->repr_str());
  return result;
}

namespace {

enum class NoneStatus : std::uint8_t { kAlways, kMaybe, kNever };

NoneStatus none_status(const IrValue& value) {
  if (value.node()->must_be_none()) return NoneStatus::kAlways;
  const Type& type = *value.type();
  if (type.kind() == TypeKind::kOptional || type.kind() == TypeKind::kOpen ||
      (type.kind() == TypeKind::kUnion && can_hold(type, *none_type())))
    return NoneStatus::kMaybe;
  return NoneStatus::kNever;
}

}  // namespace

Condition Emitter::emit_is(const Tree& expression) {
  const bool is = expression.token == TokenKind::kIs;
  const SourceRange range = range_of(expression);
  IrValue* left = emit(expression.part(0));
  IrValue* right = emit(expression.part(1));
  const NoneStatus left_none = none_status(*left);
  const NoneStatus right_none = none_status(*right);
  const Tree* variable = nullptr;
  IrValue* value = nullptr;
  if (expression.part(1).is(Syntax::kNone) && expression.part(0).is(Syntax::kName)) {
    variable = &expression.part(0);
    value = left;
  } else if (expression.part(0).is(Syntax::kNone) && expression.part(1).is(Syntax::kName)) {
    variable = &expression.part(1);
    value = right;
  }
  if (left_none == NoneStatus::kAlways && right_none == NoneStatus::kAlways)
    return constant_condition(is, range);
  if ((left_none == NoneStatus::kAlways && right_none == NoneStatus::kNever) ||
      (left_none == NoneStatus::kNever && right_none == NoneStatus::kAlways))
    return constant_condition(!is, range);
  Condition result;
  result.value = call_builtin(is ? Symbol::kAtenIs : Symbol::kAtenIsnot, {left, right}, range);
  if (variable != nullptr &&
      (value->type()->kind() == TypeKind::kOptional || value->type()->kind() == TypeKind::kUnion)) {
    const Refinement present{variable->text, without_none(value->type())};
    if (is) {
      result.refinements.if_false.push_back(present);
      if (value->type()->kind() == TypeKind::kUnion)
        result.refinements.if_true.push_back({variable->text, none_type()});
    } else {
      result.refinements.if_true.push_back(present);
      if (value->type()->kind() == TypeKind::kUnion)
        result.refinements.if_false.push_back({variable->text, none_type()});
    }
  }
  return result;
}

namespace {

void gather_types(const TypeParser& parser, const Tree& tree, std::vector<TypePtr>& types) {
  if (tree.is(Syntax::kTuple)) {
    for (const Tree* part : tree.all()) gather_types(parser, *part, types);
  } else {
    types.push_back(parser.parse(tree));
  }
}

}  // namespace

Condition Emitter::emit_isinstance(const Tree& call) {
  require_arguments(call, 2, "isinstance");
  const Tree& object = call.part(1).part(0);
  std::vector<TypePtr> types;
  gather_types(types_, call.part(1).part(1), types);
  IrValue* value = emit(object);
  const TypePtr actual = value->type();
  const bool has_alternatives = actual->kind() == TypeKind::kUnion || actual->kind() == TypeKind::kOptional;
  const std::vector<TypePtr> alternatives =
      has_alternatives ? actual->contained_types() : std::vector<TypePtr>{actual};
  // The types that the value may have where the condition is true (held), and where it is false (rest).
  std::vector<TypePtr> held, rest;
  bool always = true;
  for (const TypePtr& alternative : alternatives) {
    if (alternative->kind() == TypeKind::kAny) {
      held.insert(held.end(), types.begin(), types.end());
      rest.push_back(any_type());
      always = types.size() == 1 && types[0]->kind() == TypeKind::kAny;
      break;
    }
    bool is_held = false;
    bool is_certain = false;
    for (const TypePtr& type : types) {
      if (is_subtype(*alternative, *type)) {
        held.push_back(alternative);
        is_held = is_certain = true;
      } else if (is_subtype(*type, *alternative)) {
        held.push_back(type);
        is_held = true;
      }
    }
    if (!is_held) rest.push_back(alternative);
    if (!is_certain) {
      always = false;
      if (is_held) rest.push_back(alternative);
    }
  }
  Refinements refinements;
  if (object.is(Syntax::kName)) {
    if (!held.empty()) refinements.if_true.push_back({object.text, unify_all(held, true)});
    if (!rest.empty()) refinements.if_false.push_back({object.text, unify_all(rest, true)});
  }
  if (held.empty()) return constant_condition(false, range_of(object), std::move(refinements));
  if (always) return constant_condition(true, range_of(object), std::move(refinements));
  IrNode* node = create(Symbol::kPrimIsinstance, {value}, 1, {});
  node->set_attribute(Symbol::kAttrTypes, std::move(types));
  return {node->output()->set_type(bool_type()), std::move(refinements), std::nullopt};
}

// --- branches ---

void Emitter::insert_refinements(const SourceRange& range, const std::vector<Refinement>& refinements) {
  for (const Refinement& each : refinements) {
    const auto found = environment_.find_variable(each.name);
    if (!found || !found->is_value()) continue;
    environment_.set(range, each.name, unchecked_cast(found->value, each.type));
  }
}

void Emitter::emit_branches(const SourceRange& range, const Condition& condition,
                            const std::function<void()>& if_true, const std::function<void()>& if_false) {
  if (condition.known) {
    insert_refinements(range,
                       *condition.known ? condition.refinements.if_true : condition.refinements.if_false);
    return *condition.known ? if_true() : if_false();
  }
  IrNode* node = create(Symbol::kPrimIf, {condition.value}, 0, range);
  struct Branch {
    IrBlock* block;
    Scope* scope;
  };
  const auto branch = [&](const std::vector<Refinement>& refinements,
                          const std::function<void()>& emit_body) {
    IrBlock* block = node->add_block();
    environment_.push(block);
    const InsertPointGuard guard(graph_, block);
    insert_refinements(range, refinements);
    emit_body();
    return Branch{block, environment_.pop()};
  };
  const Branch yes = branch(condition.refinements.if_true, if_true);
  const Branch no = branch(condition.refinements.if_false, if_false);

  // A variable is defined after the branches if both define it.
  std::set<std::string_view> changed;
  const auto gather = [&](const Branch& from, const Branch& other, const char* name_of_other) {
    for (const std::string_view name : environment_.defined_in(*from.scope)) {
      if (environment_.is_defined_in(other.scope, name)) {
        changed.insert(name);
      } else {
        environment_.set_reason(name,
                                std::string(name) + " is not defined in the " + name_of_other + " branch");
      }
    }
  };
  gather(yes, no, "false");
  gather(no, yes, "true");
  for (const std::string_view name : changed) {
    const auto value_in = [&](const Branch& from) -> IrValue* {
      const InsertPointGuard guard(graph_, from.block);
      const auto found = environment_.find_in(from.scope, name);
      return found && found->is_value() ? found->value : nullptr;
    };
    const IrValue* one = value_in(yes);
    const IrValue* other = value_in(no);
    if (one == nullptr || other == nullptr) continue;
    const bool is_outer = environment_.is_defined_in(environment_.current(), name);
    TypePtr outer;
    for (const Scope* scope = environment_.current(); scope != nullptr; scope = scope->parent) {
      const auto found = scope->variables.find(name);
      if (found == scope->variables.end()) continue;
      outer = found->second.type;
      break;
    }
    const TypePtr type = unify(one->type(), other->type(), outer, true);
    expect(*one, type);
    expect(*other, type);
    if (type->kind() == TypeKind::kUnion && one->type()->kind() != TypeKind::kUnion &&
        other->type()->kind() != TypeKind::kUnion && is_outer &&
        (outer == nullptr || !is_subtype(*type, *outer)))
      throw SourceError(range, "Type mismatch: " + std::string(name) + " is set to type " +
                                   one->type()->repr_str() + " in the true branch and type " +
                                   other->type()->repr_str() + " in the false branch");
    environment_.set_type(name, type);
  }
}

// --- loops ---

// Until ssa.cpp, a loop has a second block for its condition.
void Emitter::emit_loop(const Tree& statement) {
  const SourceRange range = range_of(statement);
  const bool is_for = statement.is(Syntax::kFor);
  const Tree& header = statement.part(is_for ? 1 : 0);  // the number of turns, or the condition
  IrValue* trips = is_for ? emit(header) : integer(std::numeric_limits<std::int64_t>::max(), range);
  if (trips->type()->kind() != TypeKind::kInt)
    fail(header, "all inputs of range must be ints, found " + trips->type()->repr_str() + " in argument 0");
  IrNode* node = create(Symbol::kPrimLoop, {trips}, 0, range);
  IrBlock* body = node->add_block();
  IrBlock* condition_block = node->add_block();
  environment_.push(condition_block);
  if (is_for) {
    condition_block->add_output(constant(ScriptConstant(true), range));
  } else {
    const InsertPointGuard guard(graph_, condition_block);
    condition_block->add_output(emit_to_bool(emit(header), range_of(header)));
  }
  environment_.pop();
  IrValue* turn = body->add_input(int_type());
  environment_.push(body);
  const InsertPointGuard guard(graph_, body);
  if (is_for) environment_.set(range_of(statement.part(0)), statement.part(0).text, turn);
  emit_statements(statement.part(is_for ? 2 : 1));
  environment_.pop();
}

}  // namespace fxtrace::internal::torchscript
