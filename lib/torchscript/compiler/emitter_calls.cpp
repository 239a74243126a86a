// The part of the Emitter (emitter.h) for calls: of functions, methods, classes, operators with their old
// versions, casts, and special forms such as isinstance() and fork().
#include <algorithm>
#include <limits>
#include <utility>

#include "support/error.h"
#include "torchscript/compiler/builtins.h"
#include "torchscript/compiler/emitter.h"

namespace fxtrace::internal::torchscript {

void Emitter::require_arguments(const Tree& call, std::size_t count, const char* name) const {
  if (call.part(1).count != count)
    fail(call, std::string(name) + " expected exactly " + std::to_string(count) + " arguments but found " +
                   std::to_string(call.part(1).count));
  if (call.part(2).count > 0) fail(call, std::string(name) + " takes no keyword arguments");
}

SugaredValue Emitter::emit_call(const Tree& expression, std::size_t binders, const TypePtr& hint) {
  const SugaredValue callee = emit_sugared(expression.part(0));
  if (callee.is(SugaredValue::Kind::kSpecial)) return emit_special(callee.form, expression, hint, callee);
  const SourceRange range = range_of(expression.part(0));
  return call(callee, emit_arguments(range, expression.part(1).all(), expression.part(2).all()), binders);
}

CallArguments Emitter::emit_arguments(const SourceRange& range, Expressions arguments, Expressions keywords) {
  CallArguments call;
  call.range = range;
  for (IrValue* value : emit_all(arguments)) call.arguments.push_back({range, {}, value});
  for (const Tree* keyword : keywords)
    call.keywords.push_back({range_of(*keyword), keyword->text, emit(keyword->part(0))});
  return call;
}

SugaredValue Emitter::call(const SugaredValue& callee, CallArguments arguments, std::size_t binders) {
  switch (callee.kind) {
    case SugaredValue::Kind::kBuiltin:
      if (callee.value != nullptr) arguments.self = NamedValue{arguments.range, "self", callee.value};
      return sugared(call_builtin(callee.symbol, arguments));
    case SugaredValue::Kind::kMagic: {
      IrValue* first = arguments.arguments.empty() ? nullptr : arguments.arguments[0].value;
      if (first == nullptr || first->type()->kind() != TypeKind::kClass)
        return call(callee.parts[0], std::move(arguments), binders);
      const SugaredValue method = attribute_of_value(first, callee.text, arguments.range);
      arguments.arguments.erase(arguments.arguments.begin());
      return call(method, std::move(arguments), binders);
    }
    case SugaredValue::Kind::kMethod:
      return call_method(callee.value, callee.text, std::move(arguments));
    case SugaredValue::Kind::kFunction:
      return call_function(callee.function, arguments);
    case SugaredValue::Kind::kClass: {
      IrNode* node = create(Symbol::kPrimCreateObject, {}, 1, arguments.range);
      IrValue* object = node->output()->set_type(callee.type);
      if (callee.type->as<ClassType>()->find_method("__init__") == nullptr)
        throw SourceError(arguments.range,
                          "Class " + callee.type->name() + " does not have an __init__ function defined");
      call_method(object, "__init__", std::move(arguments));
      return sugared(object);
    }
    case SugaredValue::Kind::kNamedTuple: {
      const auto& type = *callee.type->as<TupleType>();
      FunctionSchema schema;
      schema.name = type.name();
      const std::size_t required =
          type.fields().size() - std::min(type.fields().size(), type.defaults().size());
      for (std::size_t i = 0; i < type.fields().size(); ++i) {
        FunctionArgument argument;
        argument.name = type.fields()[i];
        argument.type = type.items()[i];
        if (i >= required) argument.default_value = type.defaults()[i - required];
        schema.arguments.push_back(std::move(argument));
      }
      const Match match = matcher_.match({&schema}, arguments);
      IrNode* node = create(Symbol::kPrimTupleConstruct, match.inputs, 1, arguments.range);
      return sugared(node->output()->set_type(callee.type));
    }
    case SugaredValue::Kind::kCast:
      return call_cast(callee, std::move(arguments));
    case SugaredValue::Kind::kTensorCast: {
      if (!arguments.arguments.empty() || !arguments.keywords.empty())
        throw SourceError(arguments.range, "a cast of a tensor takes no arguments");
      arguments.keywords.push_back({arguments.range, "dtype", integer(callee.number, arguments.range)});
      arguments.self = NamedValue{arguments.range, "self", callee.value};
      return sugared(call_builtin(Symbol::kAtenTo, arguments));
    }
    case SugaredValue::Kind::kPrint: {
      if (!arguments.keywords.empty())
        throw SourceError(arguments.range, "print doesn't accept any keyword arguments");
      std::vector<IrValue*> values;
      for (const NamedValue& each : arguments.arguments) values.push_back(each.value);
      IrNode* node = create(Symbol::kPrimPrint, values, 0, arguments.range);
      const auto& overloads = registered_overloads(Symbol::kPrimPrint);
      if (!overloads.empty()) node->set_operator_schema(overloads[0]);
      return of_kind(SugaredValue::Kind::kNothing);
    }
    case SugaredValue::Kind::kValue:
      if (callee.value->type()->kind() == TypeKind::kClass)
        return call_method(callee.value, "__call__", std::move(arguments));
      [[fallthrough]];
    default:
      throw SourceError(arguments.range, std::string("cannot call a ") + kind_text(callee));
  }
}

SugaredValue Emitter::call_cast(const SugaredValue& cast, CallArguments arguments) {
  if (arguments.arguments.size() == 1 && arguments.keywords.empty()) {
    IrValue* value = arguments.arguments[0].value;
    const Type& type = *value->type();
    if (!type.is_open() && is_subtype(type, *cast.type)) return sugared(value);
    const bool has_length = type.kind() == TypeKind::kList || type.kind() == TypeKind::kAnyList ||
                            type.kind() == TypeKind::kString || type.kind() == TypeKind::kDict;
    if (cast.type->kind() == TypeKind::kBool && has_length) {
      IrValue* length = call_builtin(Symbol::kAtenLen, {value}, arguments.range);
      return sugared(call_builtin(Symbol::kAtenGt, {length, integer(0)}, arguments.range));
    }
  }
  return sugared(call_builtin(cast.symbol, arguments));
}

SugaredValue Emitter::call_method(IrValue* self, const std::string& method, CallArguments arguments) {
  const FunctionSchema* schema = nullptr;
  if (const auto* type = self->type()->as<ClassType>()) {
    const Function* function = type->find_method(method);
    if (function == nullptr && type->is_torchbind()) {
      // A class that comes from the schema of an operator has only its name, so the program's is looked up.
      const TypePtr known = program_.find_type(type->name());
      if (known != nullptr && known->as<ClassType>() != nullptr)
        function = known->as<ClassType>()->find_method(method);
      if (function == nullptr && program_.on_unknown) {
        program_.on_unknown(type->name() + "." + method);
        if (known != nullptr && known->as<ClassType>() != nullptr)
          function = known->as<ClassType>()->find_method(method);
      }
    }
    if (function == nullptr && type->is_torchbind() && program_.undeclared != nullptr)
      return sugared(call_undeclared((*program_.undeclared)[type->name() + "." + method], arguments));
    if (function == nullptr)
      throw SourceError(arguments.range,
                        "Class '" + type->repr_str() + "' does not define a method '" + method + "'");
    schema = &function->schema();
  } else if (const auto* interface = self->type()->as<InterfaceType>()) {
    schema = interface->find_method(method);
  }
  if (schema == nullptr)
    throw SourceError(arguments.range, "'" + self->type()->repr_str() + "' has no method '" + method + "'");
  arguments.arguments.insert(arguments.arguments.begin(), NamedValue{arguments.range, {}, self});
  const Match match = matcher_.match({schema}, arguments);
  IrNode* node = create(Symbol::kPrimCallMethod, match.inputs, 1, arguments.range);
  node->set_attribute(Symbol::kAttrName, method);
  return sugared(node->output()->set_type(match.results.empty() ? none_type() : match.results[0]));
}

SugaredValue Emitter::call_function(Function* function, const CallArguments& arguments) {
  const Match match = matcher_.match({&function->schema()}, arguments);
  ScriptConstant target(ScriptConstant::FunctionValue{function});
  IrValue* callee =
      constants_.get_constant(target, std::make_shared<FunctionType>(function->qualified_name(), function));
  std::vector<IrValue*> inputs = match.inputs;
  inputs.insert(inputs.begin(), callee);
  IrNode* node = create(Symbol::kPrimCallFunction, inputs, 1, arguments.range);
  return sugared(node->output()->set_type(match.results.empty() ? none_type() : match.results[0]));
}

IrValue* Emitter::call_builtin(Symbol symbol, const std::vector<IrValue*>& arguments,
                               const SourceRange& range) {
  CallArguments call;
  call.range = range;
  for (IrValue* value : arguments) call.arguments.push_back({range, {}, value});
  return call_builtin(symbol, call);
}

IrValue* Emitter::call_builtin(Symbol symbol, const CallArguments& arguments) {
  std::vector<const FunctionSchema*> overloads = program_.operators().overloads(symbol);
  if (overloads.empty() && program_.on_unknown) {
    program_.on_unknown(std::string(to_text(symbol)));
    overloads = program_.operators().overloads(symbol);
  }
  const std::vector<Function*>& written = program_.builtin_functions(symbol);
  if (overloads.empty() && written.empty()) {
    if (program_.undeclared != nullptr) {
      const auto known = program_.undeclared->find(std::string(to_text(symbol)));
      if (known != program_.undeclared->end()) return call_undeclared(known->second, arguments);
    }
    throw SourceError(arguments.range, "Unknown builtin op: " + std::string(to_text(symbol)) + ".");
  }
  std::vector<const FunctionSchema*> old;
  std::vector<Function*> functions;  // functions that may be inlined, tried after the overloads
  if (is_archive_code_ && program_.operator_version() < kCurrentOperatorVersion) {
    std::vector<const FunctionSchema*> current;
    for (const FunctionSchema* overload : overloads) {
      const auto* meant =
          overload->row == nullptr ? nullptr : program_.find_old_operator(overload->row->name);
      if (meant == nullptr) {
        current.push_back(overload);
      } else {
        old.push_back(&meant->schema);
        functions.push_back(meant->function);
      }
    }
    overloads = std::move(current);
  }
  std::vector<const FunctionSchema*> schemas = overloads;
  schemas.insert(schemas.end(), old.begin(), old.end());
  for (Function* function : written) {
    // Code that is saved calls what these call; an open type would fit them, too.
    if (has_undeclared_call_ && !overloads.empty()) break;
    functions.push_back(function);
    schemas.push_back(&function->schema());
  }
  const Match match = matcher_.match(schemas, arguments);
  if (match.schema >= overloads.size())
    return emit_inlined(*functions[match.schema - overloads.size()], match, arguments.range);
  const FunctionSchema& chosen = *overloads[match.schema];
  IrNode* node = matcher_.emit(chosen, match, arguments.range);
  if (chosen.has_variadic_results && node->outputs().empty()) return node->add_output();
  return node->outputs().size() == 1 ? node->output() : matcher_.tuple(node->outputs());
}

IrValue* Emitter::call_undeclared(UndeclaredOperator& called, const CallArguments& arguments) {
  called.add_call(arguments, function_);
  has_undeclared_call_ = true;
  return create(Symbol::kPrimUninitialized, {}, 1, arguments.range)->output()->set_type(called.result);
}

IrValue* Emitter::emit_inlined(const Function& function, const Match& match, const SourceRange& range) {
  const IrGraph& body = function.graph();
  std::unordered_map<IrValue*, IrValue*> given;
  for (std::size_t i = 0; i < match.inputs.size(); ++i) given[body.inputs().at(i)] = match.inputs[i];
  IrNode* before = graph_.insert_point()->previous();
  IrCloner cloner(graph_, [&](IrValue* value) { return given.at(value); });
  IrValue* result = cloner.clone_nodes(*body.block(), graph_.insert_point()).at(0);
  // The inlined nodes have the range of the call.
  for (IrNode* node = before->next(); node != graph_.insert_point(); node = node->next())
    node->set_source_range(range);
  return result;
}

// --- special forms ---

SugaredValue Emitter::emit_special(SpecialForm form, const Tree& expression, const TypePtr& hint,
                                   const SugaredValue& callee) {
  const SourceRange range = range_of(expression);
  const Expressions arguments = expression.part(1).all();
  switch (form) {
    case SpecialForm::kAnnotate: {
      require_arguments(expression, 2, "annotate");
      const TypePtr type = types_.parse(*arguments[0]);
      IrValue* value = matcher_.convert(type, emit(*arguments[1], type), range);
      std::string why_not;
      if (!is_subtype(*value->type(), *type, &why_not))
        throw SourceError(range, "expected an expression of type " + type->repr_str() + " but found " +
                                     value->type()->repr_str() + "\n" + why_not);
      // An annotated None keeps the annotated type.
      if ((type->kind() == TypeKind::kOptional || type->kind() == TypeKind::kUnion) &&
          value->type()->kind() == TypeKind::kNone)
        value = constants_.get_constant(ScriptConstant(), type, range);
      return sugared(value);
    }
    case SpecialForm::kUncheckedCast: {
      require_arguments(expression, 2, "unchecked_cast");
      const TypePtr type = types_.parse(*arguments[0]);
      IrValue* value = emit(*arguments[1]);
      expect(*value, type);
      // A refinement may have cast it to this type already.
      if (!value->node()->is(Symbol::kPrimUncheckedCast) || !(*value->type() == *type))
        value = unchecked_cast(value, type);
      return sugared(value);
    }
    case SpecialForm::kUninitialized: {
      require_arguments(expression, 1, "uninitialized");
      const TypePtr type = types_.parse(*arguments[0]);
      return sugared(create(Symbol::kPrimUninitialized, {}, 1, range)->output()->set_type(type));
    }
    case SpecialForm::kGetattr: {
      require_arguments(expression, 2, "getattr");
      if (!arguments[1]->is(Syntax::kStringLiteral))
        throw SourceError(range, "getattr's second argument must be a string literal");
      return attribute(emit_sugared(*arguments[0]), arguments[1]->text, range);
    }
    case SpecialForm::kIsinstance:
      return sugared(emit_isinstance(expression).value);
    case SpecialForm::kTolist: {
      if (hint == nullptr) throw SourceError(range, "Expected type hint for result of tolist()");
      // Two further inputs are the depth of the list, and the kind of its elements.
      const Type* element = hint.get();
      std::int64_t depth = 0;
      for (; element->kind() == TypeKind::kList; ++depth) element = element->contained_types()[0].get();
      const std::int64_t kind = element->kind() == TypeKind::kInt     ? 0
                                : element->kind() == TypeKind::kFloat ? 1
                                : element->kind() == TypeKind::kBool  ? 2
                                                                      : 3;
      IrNode* node = create(Symbol::kPrimTolist, {callee.value, integer(depth), integer(kind)}, 1, {});
      return sugared(node->output()->set_type(hint));
    }
    case SpecialForm::kCreateObject: {
      if (arguments.size() != 1) throw SourceError(range, "Only one argument to __new__ allowed");
      const SugaredValue class_value = emit_sugared(*arguments[0]);
      if (!class_value.is(SugaredValue::Kind::kClass))
        throw SourceError(range, std::string("Expected class value as argument to __new__, got ") +
                                     kind_text(class_value) + " instead");
      return sugared(create(Symbol::kPrimCreateObject, {}, 1, range)->output()->set_type(class_value.type));
    }
    case SpecialForm::kFork:
      return emit_fork(expression, Symbol::kPrimFork);
    case SpecialForm::kAwaitable:
      return emit_fork(expression, Symbol::kPrimAwaitable);
  }
  throw SourceError(range, "unknown special form");
}

// The body is in a prim::Closure until cleanup.cpp makes it a graph of its own.
SugaredValue Emitter::emit_fork(const Tree& expression, Symbol kind) {
  const SourceRange range = range_of(expression);
  const Expressions arguments = expression.part(1).all();
  if (arguments.empty()) throw SourceError(range, "Expected at least one argument to fork()");
  const SugaredValue forked = emit_sugared(*arguments[0]);
  CallArguments call_arguments = emit_arguments(range, arguments.subspan(1), expression.part(2).all());
  IrValue* closure = nullptr;
  if (forked.is(SugaredValue::Kind::kClosure)) {
    closure = forked.value;
  } else {
    closure = emit_closure(
        [&](IrBlock* block) { block->add_output(as_value(call(forked, std::move(call_arguments)), range)); });
  }
  const TypePtr type = closure->node()->blocks().at(0)->outputs().at(0)->type();
  IrNode* node = create(kind, {closure}, 1, range);
  return sugared(node->output()->set_type(kind == Symbol::kPrimFork ? future_type(type) : await_type(type)));
}

}  // namespace fxtrace::internal::torchscript
