// The parts of the Emitter for definitions, statements and assignments.  emitter*.cpp follow PyTorch's
// torch/csrc/jit/frontend/ir_emitter.cpp (BSD-3-Clause, see NOTICE).
#include "torchscript/compiler/emitter.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "support/error.h"
#include "torchscript/ir/ir_steps.h"

namespace fxtrace::internal::torchscript {

namespace {

// The limit of a graph's size (IrGraph::size()): a part for any function, and a part per byte of its file.
// Archives of torch have at most one node or input for two bytes.
constexpr std::size_t kSizeOfAny = 200'000;
constexpr std::size_t kSizePerByte = 4;

}  // namespace

std::unique_ptr<IrGraph> compile_function(ScriptProgram& program, const SyntaxFile& file,
                                          const Tree& definition, Function& function, const TypePtr& self) {
  auto graph = std::make_unique<IrGraph>();
  graph->set_limit(std::min(kSizeOfAny + kSizePerByte * file.source().text().size(), program.size_left()));
  Emitter emitter(program, file, *graph, function);
  try {
    emitter.emit_function(definition, self);
    if (emitter.has_undeclared_call()) throw UndeclaredCall();
    convert_to_ssa(*graph);
    clean_up(*graph);
    program.keep_size(graph->size());
  } catch (Error& error) {
    if (emitter.has_undeclared_call()) throw UndeclaredCall();
    error.at(file.source().name() + ":" + std::to_string(file.source().line_of(definition.begin)));
    throw;
  }
  return graph;
}

Emitter::Emitter(ScriptProgram& program, const SyntaxFile& file, IrGraph& graph, Function& function)
    : program_(program),
      file_(file),
      graph_(graph),
      function_(function),
      types_(file, program.resolver()),
      constants_(graph),
      numbers_(graph),
      matcher_(graph, constants_),
      environment_(graph, matcher_),
      is_archive_code_(!program.is_own(file)) {}

IrNode* Emitter::create(Symbol kind, const std::vector<IrValue*>& inputs, std::size_t outputs,
                        const SourceRange& range) {
  return graph_.insert(graph_.create(kind, inputs, outputs)->set_source_range(range));
}

// --- definitions ---

void Emitter::emit_function(const Tree& definition, const TypePtr& self) {
  environment_.push(graph_.block());
  emit_definition(definition, self, graph_.block());
  environment_.pop();
}

void Emitter::emit_definition(const Tree& definition, const TypePtr& self, IrBlock* block) {
  const FunctionSchema schema = types_.schema(definition, self);
  for (std::size_t i = 0; i < schema.arguments.size(); ++i) {
    const Tree& parameter = definition.part(0).part(i);
    IrValue* value = block->add_input(schema.arguments[i].type);
    if ((i == 0 && self != nullptr) || is_meaningful_name(parameter.text)) value->set_name(parameter.text);
    environment_.set(range_of(parameter), parameter.text, value);
  }
  Expressions statements = definition.part(2).all();
  const Tree* end = statements.back()->is(Syntax::kReturn) ? statements.back() : nullptr;
  if (end != nullptr) statements = statements.first(statements.size() - 1);
  for (const Tree* statement : statements) emit_statement(*statement);
  const TypePtr declared = schema.results.empty() ? nullptr : schema.results[0];
  if (end == nullptr && declared != nullptr && declared->kind() != TypeKind::kNone)
    fail(definition, "Function was not annotated as having type None, but does not return along all paths");
  block->add_output(emit_result(range_of(end != nullptr ? *end : definition),
                                end != nullptr ? &end->part(0) : nullptr, declared));
}

IrValue* Emitter::emit_closure(const std::function<void(IrBlock*)>& emit_body) {
  IrNode* node = graph_.insert(graph_.create(Symbol::kPrimClosure));
  node->output()->set_type(none_type());
  IrBlock* block = node->add_block();
  const InsertPointGuard guard(graph_, block);
  environment_.push(block);
  emit_body(block);
  environment_.pop();
  return node->output();
}

IrValue* Emitter::emit_result(const SourceRange& range, const Tree* value, const TypePtr& declared) {
  IrValue* result = value == nullptr ? constant(ScriptConstant(), range) : emit(*value, declared);
  if (declared == nullptr) return result;
  const bool forgotten = declared->kind() == TypeKind::kTensor && result->type()->kind() == TypeKind::kNone;
  if (!forgotten) result = matcher_.convert(declared, result, range);
  if (!is_subtype(*result->type(), *declared))
    throw SourceError(range, "Return value was annotated as having type " + declared->repr_str() +
                                 " but is actually of type " + result->type()->repr_str());
  if (declared->kind() == TypeKind::kAny && result->type()->kind() != TypeKind::kAny)
    result = unchecked_cast(result, declared);
  return result;
}

// --- statements ---

void Emitter::emit_statements(const Tree& list) {
  for (const Tree* statement : list.all()) emit_statement(*statement);
}

void Emitter::emit_statement(const Tree& statement) {
  graph_.spend(1);  // even if it emits no node
  switch (statement.kind) {
    case Syntax::kIf: {
      const Condition condition = emit_condition(statement.part(0));
      emit_branches(
          range_of(statement), condition, [&] { emit_statements(statement.part(1)); },
          [&] { emit_statements(statement.part(2)); });
      return;
    }
    case Syntax::kWhile:
    case Syntax::kFor:
      return emit_loop(statement);
    case Syntax::kAssignment:
      return emit_assignment(statement);
    case Syntax::kAugmentedAssignment:
      return emit_augmented_assignment(statement);
    case Syntax::kExpression: {
      const SugaredValue value = emit_sugared(statement.part(0), 0);
      const auto* open = value.is_value() ? value.value->type()->as<OpenType>() : nullptr;
      if (open != nullptr) open->uses().is_statement = true;
      return;
    }
    case Syntax::kPass:
    case Syntax::kGlobal:
      return;
    case Syntax::kDefinition: {
      IrValue* closure = emit_closure([&](IrBlock* block) { emit_definition(statement, nullptr, block); });
      return environment_.set(range_of(statement), statement.text,
                              SugaredValue{.kind = SugaredValue::Kind::kClosure, .value = closure});
    }
    case Syntax::kDelete:
      return emit_delete(statement);
    case Syntax::kWith:
      return emit_with(statement);
    default:
      fail(statement, "Unrecognized statement");
  }
}

void Emitter::emit_delete(const Tree& statement) {
  for (const Tree* target : statement.all()) {
    if (target->is(Syntax::kName)) {
      if (!environment_.remove(target->text)) fail(*target, "undefined value " + std::string(target->text));
      continue;
    }
    if (!target->is(Syntax::kSubscript))
      fail(*target, "del statements are only supported for deleting list and dict items and variables");
    const Tree& subscripts = target->part(1);
    if (subscripts.count != 1 || subscripts.part(0).is(Syntax::kSlice))
      fail(*target, "del statements only support deletion at a single index, slicing is not supported");
    IrValue* value = emit(target->part(0));
    IrValue* index = emit(subscripts.part(0));
    if (value->type()->kind() == TypeKind::kClass) {
      call_method(value, "__delitem__", {range_of(statement), {{range_of(*target), {}, index}}, {}, {}});
    } else {
      call_builtin(Symbol::kAtenDelitem, {value, index}, range_of(*target));
    }
  }
}

void Emitter::emit_with(const Tree& statement) {
  std::vector<IrValue*> entered;
  for (const Tree* item : statement.part(0).all()) {
    IrValue* object = emit(item->part(0));
    const auto* type = object->type()->as<ClassType>();
    if (type == nullptr) fail(item->part(0), "With item expression must return an object");
    const Function* enter = type->find_method("__enter__");
    const Function* exit = type->find_method("__exit__");
    if (enter == nullptr || exit == nullptr)
      fail(item->part(0),
           "Object returned by with item expression does not define __enter__ and __exit__ methods");
    if (enter->schema().arguments.size() != 1)
      fail(item->part(0), "__enter__ must have only one argument and one return value");
    if (exit->schema().arguments.size() != 4) fail(item->part(0), "__exit__ must have four arguments");
    IrNode* node = create(Symbol::kPrimEnter, {object}, 1, {});
    node->output()->set_type(enter->schema().results.at(0));
    entered.push_back(object);
    if (item->part(1).is_there())
      environment_.set(range_of(item->part(1)), item->part(1).text, node->output());
  }
  emit_statements(statement.part(1));
  for (IrValue* object : std::views::reverse(entered)) create(Symbol::kPrimExit, {object}, 1, {});
}

// --- assignments ---

void Emitter::emit_assignment(const Tree& statement) {
  const Tree& targets = statement.part(0);
  const Tree& value = statement.part(1);
  if (!value.is_there()) fail(statement, "For an assignment, expected an expression on the right-hand side");
  if (targets.count == 1)
    return emit_assignment_to(targets.part(0), value, statement.part(2), range_of(statement));
  // a = b = value: the value is evaluated once, then assigned from left to right.
  const std::string_view name = environment_.keep_name("$tmp_assign_" + std::to_string(made_names_++));
  environment_.set(range_of(value), name, emit_sugared(value));
  Tree again;
  again.kind = Syntax::kName;
  again.text = name;
  again.begin = value.begin;
  again.end = value.end;
  const Tree no_type;
  for (const Tree* target : targets.all()) emit_assignment_to(*target, again, no_type, range_of(statement));
}

void Emitter::emit_assignment_to(const Tree& target, const Tree& value, const Tree& type,
                                 const SourceRange& range) {
  switch (target.kind) {
    case Syntax::kName: {
      const TypePtr declared = type.is_there() ? types_.parse(type) : nullptr;
      SugaredValue assigned = emit_sugared(value, 1, declared);
      if (assigned.is(SugaredValue::Kind::kNothing)) assigned = sugared(constant(ScriptConstant(), range));
      return environment_.set(range_of(target), target.text, std::move(assigned), declared);
    }
    case Syntax::kTuple: {
      bool starred = false;
      const std::size_t binders = count_binders(target.all(), range, &starred);
      return assign_tuple(target, emit_sugared(value, binders), range_of(value));
    }
    case Syntax::kAttribute: {
      const TypePtr declared = type.is_there() ? types_.parse(type) : nullptr;
      const SugaredValue object = emit_sugared(target.part(0));
      IrValue* assigned = as_value(emit_sugared(value, 1, declared), range_of(value));
      // As in LibTorch, the node's range is that of the value, not of the statement.
      return set_attribute(object, target.text, assigned, range, range_of(value));
    }
    case Syntax::kSubscript:
      return emit_subscript_assignment(range, target, emit(value));
    default:
      fail(target, "unexpected expression on left-hand side of assignment");
  }
}

std::size_t Emitter::count_binders(Expressions targets, const SourceRange& range, bool* starred) const {
  std::size_t plain = 0;
  std::size_t stars = 0;
  for (const Tree* target : targets) {
    if (target->is(Syntax::kStarred)) {
      ++stars;
    } else if (target->is(Syntax::kName) || target->is(Syntax::kSubscript) || target->is(Syntax::kTuple) ||
               target->is(Syntax::kAttribute)) {
      ++plain;
    } else {
      fail(*target, "lhs of assignment must be a variable, subscript, or starred expression");
    }
  }
  if (stars > 1) throw SourceError(range, "Only one starred expression is allowed on the lhs");
  if (stars > 0 && plain == 0)
    throw SourceError(range,
                      "A Starred expression may only appear on the lhs within the presence of another "
                      "non-starred expression");
  if (starred != nullptr) *starred = stars > 0;
  return plain;
}

void Emitter::assign_tuple(const Tree& target, const SugaredValue& value, const SourceRange& range) {
  bool starred = false;
  const std::size_t binders = count_binders(target.all(), range, &starred);
  const std::vector<IrValue*> items =
      as_tuple(value, range, starred ? std::nullopt : std::optional<std::size_t>(binders));
  if (items.size() < binders)
    fail(target, std::string("need ") + (starred ? "at least " : "") + std::to_string(binders) +
                     " values to unpack but found only " + std::to_string(items.size()));
  if (items.size() > binders && !starred)
    fail(target, "too many values to unpack: need " + std::to_string(binders) + " but found " +
                     std::to_string(items.size()));
  assign_all(target.all(), items, range, binders);
}

void Emitter::assign_all(Expressions targets, const std::vector<IrValue*>& values, const SourceRange& range,
                         std::size_t binders) {
  std::size_t next = 0;
  for (const Tree* target : targets) {
    switch (target->kind) {
      case Syntax::kSubscript:
        emit_subscript_assignment(range, *target, values.at(next++));
        break;
      case Syntax::kName:
        environment_.set(range_of(*target), target->text, values.at(next++));
        break;
      case Syntax::kAttribute:
        set_attribute(emit_sugared(target->part(0)), target->text, values.at(next++), range, range);
        break;
      case Syntax::kStarred: {
        const Tree& name = target->part(0);
        if (!name.is(Syntax::kName)) fail(name, "Cannot pack a tuple into a non-variable");
        std::vector<IrValue*> rest;
        for (std::size_t i = binders; i < values.size(); ++i) rest.push_back(values.at(next++));
        environment_.set(range_of(name), name.text, matcher_.tuple(rest));
        break;
      }
      case Syntax::kTuple:
        assign_tuple(*target, sugared(values.at(next++)), range);
        break;
      default:
        fail(*target, "unexpected expression on the left-hand side");
    }
  }
}

// --- augmented assignments ---

namespace {

struct AugmentedOperator {
  TokenKind token;
  const char* in_place;  // for tensors and lists
  const char* plain;
  const char* in_place_method;  // for objects of classes, like `method`
  const char* method;
};

constexpr AugmentedOperator kAugmentedOperators[] = {
    {TokenKind::kPlus, "aten::add_", "aten::add", "__iadd__", "__add__"},
    {TokenKind::kMinus, "aten::sub_", "aten::sub", "__isub__", "__sub__"},
    {TokenKind::kSlash, "aten::div_", "aten::div", "__itruediv__", "__truediv__"},
    {TokenKind::kStar, "aten::mul_", "aten::mul", "__imul__", "__mul__"},
    {TokenKind::kPercent, "aten::fmod_", "aten::fmod", "__imod__", "__mod__"},
    {TokenKind::kBar, "aten::bitwise_or", "aten::__or__", nullptr, nullptr},
    {TokenKind::kAmpersand, "aten::bitwise_and", "aten::__and__", nullptr, nullptr},
    {TokenKind::kCaret, "aten::bitwise_xor", "aten::__xor__", nullptr, nullptr},
    {TokenKind::kShiftLeft, "aten::__lshift__", "aten::__lshift__", nullptr, nullptr},
    {TokenKind::kShiftRight, "aten::__irshift__", "aten::__rshift__", nullptr, nullptr},
    {TokenKind::kPower, "aten::pow", "aten::pow", nullptr, nullptr},
};

const AugmentedOperator& augmented_operator(TokenKind token) {
  for (const AugmentedOperator& each : kAugmentedOperators) {
    if (each.token == token) return each;
  }
  throw input_error("Unknown augmented assignment");
}

Symbol augmented_symbol(TokenKind token, const Type& type) {
  const bool in_place = type.kind() == TypeKind::kTensor || type.kind() == TypeKind::kList;
  const AugmentedOperator& op = augmented_operator(token);
  return intern(in_place ? op.in_place : op.plain);
}

}  // namespace

void Emitter::emit_augmented_assignment(const Tree& statement) {
  const Tree& target = statement.part(0);
  switch (target.kind) {
    case Syntax::kName: {
      IrValue* before = emit(target);
      return environment_.set(range_of(target), target.text, emit_augmented(statement, before));
    }
    case Syntax::kAttribute: {
      const SugaredValue object = emit_sugared(target.part(0));
      IrValue* before = as_value(attribute(object, target.text, range_of(target)), range_of(target));
      return set_attribute(object, target.text, emit_augmented(statement, before), range_of(statement),
                           range_of(statement));
    }
    case Syntax::kSubscript:
      return emit_augmented_subscript(statement);
    default:
      fail(target, "unexpected expression on left-hand side of augmented assignment");
  }
}

IrValue* Emitter::emit_augmented(const Tree& statement, IrValue* left) {
  const SourceRange range = range_of(statement);
  IrValue* right = emit(statement.part(1));
  const auto* type = left->type()->as<ClassType>();
  if (type == nullptr)
    return call_builtin(augmented_symbol(statement.token, *left->type()), {left, right}, range);
  const AugmentedOperator& op = augmented_operator(statement.token);
  for (const char* method : {op.in_place_method, op.method}) {
    if (method == nullptr || type->find_method(method) == nullptr) continue;
    return as_value(call_method(left, method, {range, {{range, {}, right}}, {}, {}}), range);
  }
  throw SourceError(
      range, "Cannot emit inplace op on " + type->repr_str() + " since it does not define a method for it");
}

void Emitter::emit_augmented_subscript(const Tree& statement) {
  const Tree& target = statement.part(0);
  const Expressions subscripts = target.part(1).all();
  const SourceRange range = range_of(statement);
  IrValue* container = emit(target.part(0));
  if (container->type()->kind() == TypeKind::kTensor) {
    const auto [sliced, indices] = emit_indexing(range_of(target), container, subscripts);
    IrValue* right = emit(statement.part(1));
    const Symbol symbol = augmented_symbol(statement.token, *container->type());
    if (indices.empty()) {
      call_builtin(symbol, {sliced, right}, range);
      return;
    }
    IrValue* list = tensor_list(indices);
    IrValue* indexed = call_builtin(Symbol::kAtenIndex, {sliced, list}, range);
    IrValue* augmented = call_builtin(symbol, {indexed, right}, range);
    call_builtin(Symbol::kAtenIndexPut, {sliced, list, augmented}, range);
    return;
  }
  TypePtr element;
  if (const auto* list = container->type()->as<ListType>()) element = list->element();
  if (const auto* dict = container->type()->as<DictType>()) element = dict->key();
  if (element == nullptr || subscripts.size() != 1)
    fail(target, container->type()->repr_str() + " does not support augmented assignment.");
  IrValue* index = emit(*subscripts[0]);
  IrValue* right = emit(statement.part(1));
  IrValue* before = call_builtin(Symbol::kAtenGetitem, {container, index}, range);
  IrValue* after = call_builtin(augmented_symbol(statement.token, *element), {before, right}, range);
  call_builtin(Symbol::kAtenSetItem, {container, index, after}, range);
}

}  // namespace fxtrace::internal::torchscript
