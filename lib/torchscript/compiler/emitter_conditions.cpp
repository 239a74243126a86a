// The part of the Emitter (emitter.h) for conditions and the type refinements that follow from them,
// branches, and loops.
#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "support/error.h"
#include "torchscript/compiler/emitter.h"

namespace fxtrace::torchscript {

// --- type refinements by conditions ---

namespace {

std::vector<Refinement> united(const std::vector<Refinement>& a, const std::vector<Refinement>& b) {
  std::vector<Refinement> result = a;
  for (const Refinement& each : b) {
    const auto same = std::find_if(result.begin(), result.end(),
                                   [&](const Refinement& other) { return other.name == each.name; });
    if (same == result.end()) {
      result.push_back(each);
    } else if (!(*same->type == *each.type)) {
      result.erase(same);  // a variable with two different refinements has none
    }
  }
  return result;
}

std::vector<Refinement> common(const std::vector<Refinement>& a, const std::vector<Refinement>& b) {
  std::vector<Refinement> result;
  for (const Refinement& each : a) {
    const auto same =
        std::find_if(b.begin(), b.end(), [&](const Refinement& other) { return other.name == each.name; });
    if (same != b.end() && *same->type == *each.type) result.push_back(each);
  }
  return result;
}

}  // namespace

Refinements Refinements::both(const Refinements& other) const {
  return {united(if_true, other.if_true), common(if_false, other.if_false)};
}
Refinements Refinements::either(const Refinements& other) const {
  return {common(if_true, other.if_true), united(if_false, other.if_false)};
}

Condition Emitter::constant_condition(bool value, const SourceRange& range, Refinements refinements) {
  return {constant(Constant(value), range), std::move(refinements), value};
}

Condition Emitter::emit_condition(const Tree& expression) {
  if (expression.is(Syntax::kBinary)) {
    if (expression.token == TokenKind::kAnd || expression.token == TokenKind::kOr)
      return emit_short_circuit(expression);
    if (expression.token == TokenKind::kIs || expression.token == TokenKind::kIsNot)
      return emit_is(expression);
  }
  const SourceRange range = range_of(expression);
  if (expression.is(Syntax::kUnary) && expression.token == TokenKind::kNot) {
    Condition inner = emit_condition(expression.part(0));
    inner.value = call_builtin(Symbol::kAtenNot, {inner.value}, range);
    inner.refinements = inner.refinements.negated();
    if (inner.known) inner.known = !*inner.known;
    return inner;
  }
  if (expression.is(Syntax::kCall) && expression.part(0).is(Syntax::kName)) {
    if (expression.part(0).text == "isinstance") return emit_isinstance(expression);
    if (expression.part(0).text == "hasattr") return emit_hasattr(expression);
  }
  Condition result;
  result.value = emit_to_bool(emit(expression), range);
  // LibTorch has an unused number here.  It separates a branch of the code from the branch before it, as
  // exits.cpp merges only branches with nothing between them.
  graph_.insert(graph_.create_constant(Constant(std::int64_t{0}), int_type()));
  // Constants and two operators are known while the code is compiled.
  const IrNode* node = result.value->node();
  if (const Constant* value = node->constant()) {
    if (const bool* known = value->get_if<bool>()) result.known = *known;
  } else if (to_text(node->kind()) == "aten::is_scripting") {
    result.known = true;
  } else if (to_text(node->kind()) == "aten::has_torch_function") {
    result.known = false;
  }
  return result;
}

IrValue* Emitter::emit_to_bool(IrValue* value, const SourceRange& range) {
  if (value->type()->kind() == TypeKind::kBool) return value;
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

Condition Emitter::emit_short_circuit(const Tree& expression) {
  const bool is_or = expression.token == TokenKind::kOr;
  const SourceRange range = range_of(expression);
  const Condition left = emit_condition(expression.part(0));
  Condition right;
  const auto rest = [&] {
    right = emit_condition(expression.part(1));
    return right.value;
  };
  const auto decided = [&] { return constant(Constant(is_or), range); };
  Condition result;
  if (is_or) {
    result.value = emit_if_expression(range, left, decided, rest);
    result.refinements = left.refinements.either(right.refinements);
  } else {
    result.value = emit_if_expression(range, left, rest, decided);
    result.refinements = left.refinements.both(right.refinements);
  }
  if ((left.known && *left.known == is_or) || (right.known && *right.known == is_or)) {
    result.known = is_or;
  } else if (left.known && right.known) {
    result.known = !is_or;
  }
  return result;
}

namespace {

enum class NoneStatus : std::uint8_t { kAlways, kMaybe, kNever };

NoneStatus none_status(const IrValue& value) {
  if (value.node()->must_be_none()) return NoneStatus::kAlways;
  const Type& type = *value.type();
  if (type.kind() == TypeKind::kOptional || (type.kind() == TypeKind::kUnion && can_hold(type, *none_type())))
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

Condition Emitter::emit_hasattr(const Tree& call) {
  require_arguments(call, 2, "hasattr");
  const SugaredValue object = emit_sugared(call.part(1).part(0));
  const Tree& name = call.part(1).part(1);
  if (!name.is(Syntax::kStringLiteral)) fail(name, "hasattr's second argument must be a string literal");
  return constant_condition(has_attribute(object, std::string(name.text), range_of(call)), range_of(call));
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

IrValue* Emitter::emit_if_expression(const SourceRange& range, const Condition& condition,
                                     const std::function<IrValue*()>& if_true,
                                     const std::function<IrValue*()>& if_false, const TypePtr& hint) {
  IrNode* node = create(Symbol::kPrimIf, {condition.value}, 0, range);
  const auto branch = [&](const std::vector<Refinement>& refinements,
                          const std::function<IrValue*()>& emit_value) {
    IrBlock* block = node->add_block();
    environment_.push(block);
    const InsertPointGuard guard(graph_, block);
    insert_refinements(range, refinements);
    block->add_output(emit_value());
    environment_.pop();
    return block->outputs()[0]->type();
  };
  const TypePtr yes = branch(condition.refinements.if_true, if_true);
  const TypePtr no = branch(condition.refinements.if_false, if_false);
  const TypePtr type = unify(yes, no, hint, true);
  return node->add_output(type);
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
    bool exits;
  };
  const auto branch = [&](const std::vector<Refinement>& refinements,
                          const std::function<void()>& emit_body) {
    IrBlock* block = node->add_block();
    environment_.push(block);
    const InsertPointGuard guard(graph_, block);
    insert_refinements(range, refinements);
    emit_body();
    Scope* scope = environment_.pop();
    return Branch{block, scope, exits_.contains(block)};
  };
  const Branch yes = branch(condition.refinements.if_true, if_true);
  const Branch no = branch(condition.refinements.if_false, if_false);
  if (yes.exits && no.exits) exits_.insert(node->owning_block());

  // A variable is defined after the branches if both define it; a branch that exits counts as defining all.
  std::set<std::string_view> changed;
  const auto gather = [&](const Branch& from, const Branch& other, const char* name_of_other) {
    for (const std::string_view name : environment_.defined_in(*from.scope)) {
      if (environment_.is_defined_in(other.scope, name) || other.exits) {
        changed.insert(name);
      } else {
        environment_.set_reason(name,
                                std::string(name) + " is not defined in the " + name_of_other + " branch");
      }
    }
  };
  gather(yes, no, "false");
  gather(no, yes, "true");
  if (yes.exits && no.exits) return;
  for (const std::string_view name : changed) {
    const auto value_in = [&](const Branch& from) -> IrValue* {
      if (from.exits) return nullptr;
      const InsertPointGuard guard(graph_, from.block);
      const auto found = environment_.find_in(from.scope, name);
      return found && found->is_value() ? found->value : nullptr;
    };
    IrValue* one = value_in(yes);
    IrValue* other = value_in(no);
    const auto stand_in = [&](const Branch& from, const IrValue* like) {
      IrNode* nothing = graph_.create(Symbol::kPrimUninitialized)->insert_before(from.block->return_node());
      nothing->output()->set_type(like->type());
      IrNode* store = graph_.create(Symbol::kPrimStore, {nothing->output()}, 0);
      store->set_attribute(Symbol::kAttrName, std::string(name));
      store->insert_before(from.block->return_node());
      return nothing->output();
    };
    if (one == nullptr && other == nullptr) continue;
    if (one == nullptr) {
      if (!yes.exits) continue;
      one = stand_in(yes, other);
    }
    if (other == nullptr) {
      if (!no.exits) continue;
      other = stand_in(no, one);
    }
    const bool is_outer = environment_.is_defined_in(environment_.current(), name);
    TypePtr outer;
    for (const Scope* scope = environment_.current(); scope != nullptr; scope = scope->parent) {
      const auto found = scope->variables.find(name);
      if (found == scope->variables.end()) continue;
      outer = found->second.type;
      break;
    }
    const TypePtr type = unify(one->type(), other->type(), outer, true);
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

void Emitter::emit_while(const Tree& statement) {
  emit_loop(
      range_of(statement), [&] { emit_statements(statement.part(1)); }, nullptr, {}, &statement.part(0));
}

void Emitter::emit_for(Expressions targets, Expressions iterated, const SourceRange& range,
                       const std::function<void()>& emit_body) {
  if (iterated.size() != 1) throw SourceError(range, "List of iterables is not supported currently");
  const SugaredValue iterable = as_iterable(emit_sugared(*iterated[0]), range);
  const bool unrolled = iterable.is(SugaredValue::Kind::kTuple) ||
                        (iterable.static_length && !iterable.is(SugaredValue::Kind::kRange));
  if (!unrolled) return emit_loop(range, emit_body, &iterable, targets, nullptr);
  const std::int64_t length = iterable.is(SugaredValue::Kind::kTuple)
                                  ? static_cast<std::int64_t>(iterable.parts.size())
                                  : *iterable.static_length;
  const LoopKind before = std::exchange(loop_, LoopKind::kUnrolled);
  for (std::int64_t i = 0; i < length; ++i) {
    graph_.spend(1);
    assign_item(targets, item_of(iterable, integer(i, range), range), range);
    emit_body();
    if (exits_.contains(environment_.block())) break;
  }
  loop_ = before;
}

void Emitter::assign_item(Expressions targets, const SugaredValue& item, const SourceRange& range) {
  if (targets.size() == 1) return assign_all(targets, {item}, range, 1);
  const std::vector<SugaredValue> items = as_tuple(item, range, targets.size());
  if (items.size() != targets.size())
    throw SourceError(range, "the number of loop variables differs from the number of values in an item");
  assign_all(targets, items, range, targets.size());
}

// Until ssa.cpp, a loop has a second block for its condition.
void Emitter::emit_loop(const SourceRange& range, const std::function<void()>& emit_body,
                        const SugaredValue* iterable, Expressions targets, const Tree* condition) {
  IrValue* trips = iterable != nullptr ? length_of(*iterable, range)
                                       : integer(std::numeric_limits<std::int64_t>::max(), range);
  IrNode* node = create(Symbol::kPrimLoop, {}, 0, range);
  IrBlock* body = node->add_block();
  IrBlock* condition_block = node->add_block();
  environment_.push(condition_block);
  if (condition != nullptr) {
    const InsertPointGuard guard(graph_, condition_block);
    condition_block->add_output(emit_to_bool(emit(*condition), range_of(*condition)));
  } else {
    condition_block->add_output(constant(Constant(true), range));
  }
  environment_.pop();
  node->add_input(trips);
  const LoopKind before = std::exchange(loop_, LoopKind::kLoop);
  IrValue* turn = body->add_input(int_type());
  environment_.push(body);
  {
    const InsertPointGuard guard(graph_, body);
    if (iterable != nullptr) {
      // zip and enumerate give several values, which become one tuple.
      assign_item(targets, sugared(as_value(item_of(*iterable, turn, range), range)), range);
    }
    emit_body();
  }
  environment_.pop();
  loop_ = before;
}

}  // namespace fxtrace::torchscript
