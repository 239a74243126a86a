#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include "script/emitter.h"
#include "script/upgraders.h"
#include "support/error.h"
#include "support/identifier.h"

namespace fxtrace::script {

const char* kind_text(const Sugared& value) {
  switch (value.kind) {
    case Sugared::Kind::kNothing:
      return "None";
    case Sugared::Kind::kValue:
      return "value";
    case Sugared::Kind::kBuiltin:
    case Sugared::Kind::kMagic:
    case Sugared::Kind::kCast:
    case Sugared::Kind::kTensorCast:
    case Sugared::Kind::kPrint:
      return "builtin";
    case Sugared::Kind::kMethod:
      return "method";
    case Sugared::Kind::kFunction:
    case Sugared::Kind::kClosure:
      return "function";
    case Sugared::Kind::kClass:
    case Sugared::Kind::kNamedTuple:
    case Sugared::Kind::kEnumClass:
      return "class";
    case Sugared::Kind::kNamespace:
      return "Class Namespace";
    case Sugared::Kind::kOperators:
      return "ops";
    case Sugared::Kind::kOperatorNamespace:
      return "builtin module";
    case Sugared::Kind::kConstants:
      return "CONSTANTS";
    case Sugared::Kind::kSpecial:
      return "special form";
    case Sugared::Kind::kException:
    case Sugared::Kind::kExceptionInstance:
      return "exception";
    case Sugared::Kind::kRange:
      return "range";
    case Sugared::Kind::kIterables:
      return "iterabletree";
    case Sugared::Kind::kTuple:
      return "tuple";
  }
  return "value";
}

// --- what a sugared value can do ---

IrValue* Emitter::as_value(const Sugared& value, const SourceRange& range) {
  switch (value.kind) {
    case Sugared::Kind::kValue:
      return value.value;
    case Sugared::Kind::kNothing:
      return constant(Constant(), range);
    case Sugared::Kind::kFunction: {
      Constant function(Constant::FunctionValue{value.function});
      return constants_.get(
          function, std::make_shared<FunctionType>(value.function->qualified_name(), value.function), range);
    }
    case Sugared::Kind::kTuple: {
      std::vector<IrValue*> items;
      for (const Sugared& part : value.parts) items.push_back(as_value(part, range));
      return matcher_.tuple(items);
    }
    default:
      throw source_error(range, std::string(kind_text(value)) + " cannot be used as a value");
  }
}

std::vector<Sugared> Emitter::as_tuple(const Sugared& value, const SourceRange& range,
                                       std::optional<std::size_t> count) {
  if (value.is(Sugared::Kind::kTuple)) return value.parts;
  IrValue* tuple = as_value(value, range);
  std::vector<Sugared> items;
  if (tuple->type()->kind() == TypeKind::kTuple) {
    for (IrValue* item : matcher_.unpack(tuple)) items.push_back(sugared(item));
    return items;
  }
  const auto* list = tuple->type()->as<ListType>();
  if (list == nullptr) throw source_error(range, tuple->type()->repr_str() + " cannot be used as a tuple");
  if (!count)
    throw source_error(range, "cannot statically infer the expected size of a list in this context");
  IrNode* node = create(Symbol::kPrimListUnpack, {tuple}, 0, {});
  for (std::size_t i = 0; i < *count; ++i) items.push_back(sugared(node->add_output(list->element())));
  return items;
}

Sugared Emitter::as_iterable(const Sugared& value, const SourceRange& range) {
  switch (value.kind) {
    case Sugared::Kind::kRange:
    case Sugared::Kind::kIterables:
    case Sugared::Kind::kTuple:
      return value;
    case Sugared::Kind::kEnumClass: {
      const auto members = std::static_pointer_cast<const EnumType>(value.type);
      Constant::List list{members, {}};
      for (std::size_t i = 0; i < members->members().size(); ++i)
        list.items.emplace_back(Constant::EnumMember{members, i});
      return sugared(constants_.get(Constant(std::move(list)), list_type(members), range));
    }
    default:
      break;
  }
  IrValue* simple = as_value(value, range);
  switch (simple->type()->kind()) {
    case TypeKind::kList:
    case TypeKind::kString:
    case TypeKind::kTensor:
      return sugared(simple);
    case TypeKind::kDict:
      return sugared(call_builtin(Symbol::kAtenKeys, {simple}, range));
    case TypeKind::kTuple: {
      Sugared items = of_kind(Sugared::Kind::kTuple);
      for (IrValue* item : matcher_.unpack(simple)) items.parts.push_back(sugared(item));
      return items;
    }
    default:
      throw source_error(range, "'" + simple->type()->repr_str() + "' object is not iterable");
  }
}

IrValue* Emitter::length_of(const Sugared& iterable, const SourceRange& range) {
  if (iterable.is(Sugared::Kind::kRange)) {
    if (iterable.number != 0) return iterable.values[1];
    return call_builtin(Symbol::kAtenRangeLength, iterable.values, range);
  }
  if (iterable.is(Sugared::Kind::kIterables)) {
    std::vector<IrValue*> lengths;
    for (const Sugared& part : iterable.parts) lengths.push_back(length_of(part, range));
    return call_builtin(Symbol::kPrimMin, {matcher_.list(int_type(), lengths)}, range);
  }
  return call_builtin(Symbol::kAtenLen, {as_value(iterable, range)}, range);
}

Sugared Emitter::item_of(const Sugared& iterable, IrValue* index, const SourceRange& range,
                         const TypePtr& hint) {
  switch (iterable.kind) {
    case Sugared::Kind::kRange:
      if (iterable.number != 0) return sugared(index);
      return sugared(
          call_builtin(Symbol::kAtenDeriveIndex, {index, iterable.values[0], iterable.values[2]}, range));
    case Sugared::Kind::kIterables: {
      Sugared items = of_kind(Sugared::Kind::kTuple);
      for (const Sugared& part : iterable.parts) items.parts.push_back(item_of(part, index, range));
      return items;
    }
    case Sugared::Kind::kTuple: {
      const Constant* known = index->node()->constant();
      const auto* at = known == nullptr ? nullptr : known->get_if<std::int64_t>();
      if (at == nullptr || *at < 0 || static_cast<std::size_t>(*at) >= iterable.parts.size())
        throw source_error(range, "Expected integer literal for index");
      return iterable.parts[static_cast<std::size_t>(*at)];
    }
    default:
      break;
  }
  IrValue* value = as_value(iterable, range);
  switch (value->type()->kind()) {
    case TypeKind::kList:
    case TypeKind::kString:
    case TypeKind::kDict:
      return sugared(call_builtin(Symbol::kAtenGetitem, {value, index}, range));
    case TypeKind::kTensor:
      return sugared(call_builtin(Symbol::kAtenSelect, {value, integer(0, range), index}, range));
    case TypeKind::kClass:
      if (value->type()->is_module() && hint != nullptr) {
        IrValue* module = call_builtin(Symbol::kPrimModuleContainerIndex, {value, index}, range);
        return sugared(module->set_type(hint));
      }
      return call_method(value, "__getitem__", {range, {{range, {}, index}}, {}, {}});
    default:
      throw source_error(range, "'" + value->type()->repr_str() + "' object is not subscriptable");
  }
}

Sugared Emitter::make_range(const std::vector<IrValue*>& inputs, const SourceRange& range) {
  if (inputs.empty()) throw source_error(range, "range expected at least 1 arguments, got 0");
  if (inputs.size() > 3)
    throw source_error(range, "range expected at most 3 arguments, got " + std::to_string(inputs.size()));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i]->type()->kind() != TypeKind::kInt)
      throw source_error(range, "all inputs of range must be ints, found " + inputs[i]->type()->repr_str() +
                                    " in argument " + std::to_string(i));
  }
  Sugared result = of_kind(Sugared::Kind::kRange);
  result.number = inputs.size() == 1 ? 1 : 0;
  IrValue* start = inputs.size() == 1 ? integer(0, range) : inputs[0];
  IrValue* step = inputs.size() == 3 ? inputs[2] : integer(1, range);
  result.values = {start, inputs.size() == 1 ? inputs[0] : inputs[1], step};
  return result;
}

Sugared Emitter::make_iterables(std::vector<Sugared> parts, const SourceRange& range) {
  Sugared result = of_kind(Sugared::Kind::kIterables);
  const auto length = [](const Sugared& part) -> std::optional<std::int64_t> {
    if (part.is(Sugared::Kind::kTuple)) return static_cast<std::int64_t>(part.parts.size());
    return part.static_length;
  };
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto known = length(parts[i]);
    if (i > 0 && known.has_value() != result.static_length.has_value())
      throw source_error(range,
                         "Can not iterate over a module list or tuple with a value that does not have a "
                         "statically determinable length");
    result.static_length = i == 0 || !known ? known : std::min(known, result.static_length);
  }
  result.parts = std::move(parts);
  return result;
}

// --- attributes ---

Sugared Emitter::attribute(const Sugared& value, std::string_view name, const SourceRange& range) {
  switch (value.kind) {
    case Sugared::Kind::kValue:
      return attribute_of_value(value.value, name, range);
    case Sugared::Kind::kClass: {
      const auto& type = *value.type->as<ClassType>();
      if (Function* hook = type.find_hook(name)) {
        Sugared result = of_kind(Sugared::Kind::kFunction);
        result.function = hook;
        return result;
      }
      if (name == "__new__") return sugared_special(SpecialForm::kCreateObject);
      // A static method is saved as a function of the class.
      if (Function* method = type.find_method(name)) {
        Sugared result = of_kind(Sugared::Kind::kFunction);
        result.function = method;
        return result;
      }
      throw source_error(range, "Tried to lookup unknown attribute on class " + type.annotation_str());
    }
    case Sugared::Kind::kEnumClass: {
      const auto type = std::static_pointer_cast<const EnumType>(value.type);
      const auto index = type->find_member(name);
      if (!index)
        throw source_error(range, type->repr_str() + "' has no attribute '" + std::string(name) + "'");
      return sugared(constants_.get(Constant(Constant::EnumMember{type, *index}), type, range));
    }
    case Sugared::Kind::kNamespace:
    case Sugared::Kind::kOperators:
    case Sugared::Kind::kOperatorNamespace:
    case Sugared::Kind::kConstants:
      return attribute_of_namespace(value, name, range);
    default:
      throw source_error(range, std::string("attribute lookup is not defined on ") + kind_text(value));
  }
}

Sugared Emitter::attribute_of_namespace(const Sugared& value, std::string_view name,
                                        const SourceRange& range) {
  switch (value.kind) {
    case Sugared::Kind::kNamespace:
      return resolve_global(value.text + "." + std::string(name), range);
    case Sugared::Kind::kOperators: {
      Sugared space = of_kind(Sugared::Kind::kOperatorNamespace);
      space.text = name;
      return space;
    }
    case Sugared::Kind::kOperatorNamespace:
      if (name == "autograd") return value;
      return sugared_builtin(intern(value.text + "::" + std::string(name)));
    default: {  // CONSTANTS.c3
      std::size_t index = 0;
      const std::string_view digits = name.substr(1);
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
      if (digits.empty() || error != std::errc() || end != digits.data() + digits.size())
        throw source_error(range, "invalid constant specifier: " + std::string(name));
      if (index >= program_.constant_types().size())
        throw source_error(range, "constant index " + std::to_string(index) +
                                      " is out of bounds (constant table has " +
                                      std::to_string(program_.constant_types().size()) + " entries)");
      return sugared(
          constants_.get(Constant(Constant::TableEntry{index}), program_.constant_types()[index], range));
    }
  }
}

Sugared Emitter::resolve_global(const std::string& qualified, const SourceRange&) {
  if (const TypePtr type = program_.find_type(qualified)) {
    Sugared result;
    result.type = type;
    if (type->kind() == TypeKind::kClass) result.kind = Sugared::Kind::kClass;
    if (type->kind() == TypeKind::kTuple) result.kind = Sugared::Kind::kNamedTuple;
    if (type->kind() == TypeKind::kEnum) result.kind = Sugared::Kind::kEnumClass;
    if (result.kind != Sugared::Kind::kNothing) return result;
  }
  if (Function* function = program_.find_function(qualified)) {
    Sugared result = of_kind(Sugared::Kind::kFunction);
    result.function = function;
    return result;
  }
  Sugared space = of_kind(Sugared::Kind::kNamespace);
  space.text = qualified;
  return space;
}

namespace {

// Properties of tensors and devices that are operators.
bool is_property(TypeKind kind, std::string_view name) {
  static constexpr std::array<std::string_view, 30> kOfTensors{
      "H",         "T",       "data",      "device",       "dtype",         "grad",
      "is_cpu",    "is_cuda", "is_ipu",    "is_maia",      "is_meta",       "is_mkldnn",
      "is_mps",    "is_mtia", "is_nested", "is_quantized", "is_sparse",     "is_sparse_csr",
      "is_vulkan", "is_xla",  "is_xpu",    "itemsize",     "layout",        "mH",
      "mT",        "name",    "nbytes",    "ndim",         "requires_grad", "shape"};
  if (kind == TypeKind::kDevice) return name == "type" || name == "index";
  if (kind != TypeKind::kTensor) return false;
  return std::binary_search(kOfTensors.begin(), kOfTensors.end(), name);
}

// x.float() is x.to(float32).
std::optional<std::int64_t> cast_method(std::string_view name) {
  struct Row {
    std::string_view name;
    std::int64_t dtype;
  };
  static constexpr std::array kRows{Row{"byte", 0},   Row{"char", 1},    Row{"short", 2}, Row{"int", 3},
                                    Row{"long", 4},   Row{"half", 5},    Row{"float", 6}, Row{"double", 7},
                                    Row{"cfloat", 9}, Row{"cdouble", 10}};
  for (const Row& row : kRows) {
    if (row.name == name) return row.dtype;
  }
  return std::nullopt;
}

}  // namespace

Sugared Emitter::attribute_of_value(IrValue* value, std::string_view name, const SourceRange& range) {
  const Type& type = *value->type();
  if (type.kind() == TypeKind::kTensor) {
    if (const auto dtype = cast_method(name)) {
      Sugared cast = of_kind(Sugared::Kind::kTensorCast);
      cast.value = value;
      cast.number = *dtype;
      return cast;
    }
  }
  if (is_property(type.kind(), name)) {
    // Those that LibTorch writes in TorchScript itself.
    struct Row {
      std::string_view name;
      const char* symbol;
    };
    static constexpr std::array kWritten{Row{"ndim", "aten::dim"},  Row{"shape", "aten::size"},
                                         Row{"T", "aten::numpy_T"}, Row{"H", "aten::matrix_H"},
                                         Row{"mT", "aten::mT"},     Row{"mH", "aten::mH"}};
    for (const Row& row : kWritten) {
      if (row.name == name) return sugared(call_builtin(intern(row.symbol), {value}, range));
    }
    return sugared(call_builtin(intern("prim::" + std::string(name)), {value}, {}));
  }
  if (const auto* tuple = type.as<TupleType>()) {
    for (std::size_t i = 0; i < tuple->fields().size(); ++i) {
      if (tuple->fields()[i] != name) continue;
      IrNode* node = create(Symbol::kPrimTupleIndex, {value, integer(static_cast<std::int64_t>(i))}, 1, {});
      return sugared(node->output()->set_type(tuple->items()[i]));
    }
  } else if (const auto* class_type = type.as<ClassType>()) {
    if (class_type->find_method(name) != nullptr) {
      Sugared method = of_kind(Sugared::Kind::kMethod);
      method.value = value;
      method.text = name;
      return method;
    }
    if (const ClassAttribute* found = class_type->find_attribute(name)) {
      IrNode* node = create(Symbol::kPrimGetAttr, {value}, 1, {});
      node->set_attribute(Symbol::kAttrName, std::string(name));
      node->output()->set_type(found->type);
      const bool is_number = std::all_of(name.begin(), name.end(), is_digit);
      node->output()->set_name(is_number ? "_" + std::string(name) : std::string(name));
      return sugared(node->output());
    }
    if (const Constant* found = class_type->find_constant(name)) return sugared(constant(*found, range));
    if (class_type->is_torchbind()) {
      if (program_.on_unknown) program_.on_unknown(class_type->name() + "." + std::string(name));
      if (class_type->find_method(name) != nullptr) return attribute_of_value(value, name, range);
    }
  } else if (const auto* interface = type.as<InterfaceType>()) {
    if (interface->find_method(name) != nullptr) {
      Sugared method = of_kind(Sugared::Kind::kMethod);
      method.value = value;
      method.text = name;
      return method;
    }
  } else if (const auto* enumeration = type.as<EnumType>()) {
    if (name == "name" || name == "value") {
      const bool is_name = name == "name";
      IrNode* node = create(is_name ? Symbol::kPrimEnumName : Symbol::kPrimEnumValue, {value}, 1, {});
      return sugared(node->output()->set_type(is_name ? string_type() : enumeration->value_type()));
    }
  }
  if (name == "type") {
    if (auto builtin = find_builtin_method(value, "to")) return *builtin;
  }
  if (auto builtin = find_builtin_method(value, name)) return *builtin;
  if (type.kind() == TypeKind::kTensor && name == "tolist") {
    Sugared form = sugared_special(SpecialForm::kTolist);
    form.value = value;
    return form;
  }
  throw source_error(range, "Tried to access nonexistent attribute or method '" + std::string(name) +
                                "' of type '" + type.repr_str() + "'." +
                                (type.kind() == TypeKind::kClass
                                     ? " Did you forget to initialize an attribute in __init__()?"
                                     : ""));
}

std::optional<Sugared> Emitter::find_builtin_method(IrValue* self, std::string_view name) {
  const Symbol symbol = intern("aten::" + std::string(name));
  for (const OperatorSchema* overload : program_.operators().overloads(symbol)) {
    const auto at = overload->schema.find_argument("self");
    if (!at) continue;
    TypeBindings bindings;
    const TypePtr& formal = overload->schema.arguments[*at].type;
    if (match_variables(formal, self->type(), bindings)) continue;
    const TypePtr type = substitute(formal, bindings);
    if (type != nullptr && is_subtype(*self->type(), *type)) return sugared_builtin(symbol, self);
  }
  return std::nullopt;
}

bool Emitter::has_attribute(const Sugared& value, const std::string& name, const SourceRange& range) {
  const IrValue* object = as_value(value, range);
  if (const auto* type = object->type()->as<ClassType>())
    return type->find_method(name) != nullptr || type->find_slot(name) ||
           type->find_constant(name) != nullptr;
  if (const auto* type = object->type()->as<TupleType>())
    return std::find(type->fields().begin(), type->fields().end(), name) != type->fields().end();
  throw source_error(
      range, "hasattr's first argument must be an object or NamedTuple, but got a normal value instead");
}

void Emitter::set_attribute(const Sugared& object, std::string_view name, IrValue* value,
                            const SourceRange& range) {
  IrValue* holder = as_value(object, range);
  const auto* type = holder->type()->as<ClassType>();
  if (type == nullptr)
    throw source_error(range, "Tried to set an attribute: " + std::string(name) +
                                  " on a non-class: " + holder->type()->repr_str());
  const ClassAttribute* wanted = type->find_attribute(name);
  if (wanted == nullptr)
    throw source_error(range, "Tried to set nonexistent attribute: " + std::string(name) +
                                  ". Did you forget to initialize it in __init__()?");
  if (!is_subtype(*value->type(), *wanted->type))
    throw source_error(range, "Wrong type for attribute assignment. Expected " + wanted->type->repr_str() +
                                  " but got " + value->type()->repr_str());
  create(Symbol::kPrimSetAttr, {holder, value}, 0, {})->set_attribute(Symbol::kAttrName, std::string(name));
}

// --- calls ---

void Emitter::require_arguments(const Tree& call, std::size_t count, const char* name) const {
  if (call.part(1).count != count)
    fail(call, std::string(name) + " expected exactly " + std::to_string(count) + " arguments but found " +
                   std::to_string(call.part(1).count));
  if (call.part(2).count > 0) fail(call, std::string(name) + " takes no keyword arguments");
}

Sugared Emitter::emit_call(const Tree& expression, std::size_t binders, const TypePtr& hint) {
  const Sugared callee = emit_sugared(expression.part(0));
  if (callee.is(Sugared::Kind::kSpecial)) return emit_special(callee.form, expression, hint, callee);
  Call arguments;
  arguments.range = range_of(expression.part(0));
  for (IrValue* value : emit_all(expression.part(1).all()))
    arguments.arguments.push_back({arguments.range, {}, value});
  for (const Tree* keyword : expression.part(2).all())
    arguments.keywords.push_back({range_of(*keyword), keyword->text, emit(keyword->part(0))});
  return call(callee, std::move(arguments), binders);
}

Sugared Emitter::call(const Sugared& callee, Call arguments, std::size_t binders) {
  switch (callee.kind) {
    case Sugared::Kind::kBuiltin:
      if (callee.value != nullptr) arguments.self = NamedValue{arguments.range, "self", callee.value};
      return sugared(call_builtin(callee.symbol, arguments));
    case Sugared::Kind::kMagic: {
      IrValue* first = arguments.arguments.empty() ? nullptr : arguments.arguments[0].value;
      if (first == nullptr || first->type()->kind() != TypeKind::kClass)
        return call(callee.parts[0], std::move(arguments), binders);
      const Sugared method = attribute_of_value(first, callee.text, arguments.range);
      arguments.arguments.erase(arguments.arguments.begin());
      return call(method, std::move(arguments), binders);
    }
    case Sugared::Kind::kMethod:
      return call_method(callee.value, callee.text, std::move(arguments));
    case Sugared::Kind::kFunction:
      return call_function(callee.function, arguments);
    case Sugared::Kind::kClass: {
      IrNode* node = create(Symbol::kPrimCreateObject, {}, 1, arguments.range);
      IrValue* object = node->output()->set_type(callee.type);
      if (callee.type->as<ClassType>()->find_method("__init__") == nullptr)
        throw source_error(arguments.range,
                           "Class " + callee.type->name() + " does not have an __init__ function defined");
      call_method(object, "__init__", std::move(arguments));
      return sugared(object);
    }
    case Sugared::Kind::kNamedTuple: {
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
    case Sugared::Kind::kCast:
      return call_cast(callee, std::move(arguments));
    case Sugared::Kind::kTensorCast: {
      if (!arguments.arguments.empty() || !arguments.keywords.empty())
        throw source_error(arguments.range, "a cast of a tensor takes no arguments");
      arguments.keywords.push_back({arguments.range, "dtype", integer(callee.number, arguments.range)});
      arguments.self = NamedValue{arguments.range, "self", callee.value};
      return sugared(call_builtin(Symbol::kAtenTo, arguments));
    }
    case Sugared::Kind::kPrint: {
      if (!arguments.keywords.empty())
        throw source_error(arguments.range, "print doesn't accept any keyword arguments");
      std::vector<IrValue*> values;
      for (const NamedValue& each : arguments.arguments) values.push_back(each.value);
      IrNode* node = create(Symbol::kPrimPrint, values, 0, arguments.range);
      const auto& overloads = registered_overloads(Symbol::kPrimPrint);
      if (!overloads.empty()) node->set_operator_schema(overloads[0]);
      return of_kind(Sugared::Kind::kNothing);
    }
    case Sugared::Kind::kException: {
      Sugared instance = of_kind(Sugared::Kind::kExceptionInstance);
      instance.value = constant(Constant(callee.text + ": "), arguments.range);
      for (const NamedValue& each : arguments.arguments) {
        IrValue* part = each.value;
        if (part->type()->kind() != TypeKind::kString)
          part = call_builtin(Symbol::kAtenStr, {part}, arguments.range);
        instance.value = call_builtin(Symbol::kAtenAdd, {instance.value, part}, arguments.range);
      }
      return instance;
    }
    case Sugared::Kind::kValue:
      if (callee.value->type()->kind() == TypeKind::kClass)
        return call_method(callee.value, "__call__", std::move(arguments));
      [[fallthrough]];
    default:
      throw source_error(arguments.range, std::string("cannot call a ") + kind_text(callee));
  }
}

Sugared Emitter::call_cast(const Sugared& cast, Call arguments) {
  if (arguments.arguments.size() == 1 && arguments.keywords.empty()) {
    IrValue* value = arguments.arguments[0].value;
    const Type& type = *value->type();
    if (is_subtype(type, *cast.type)) return sugared(value);
    const bool has_length = type.kind() == TypeKind::kList || type.kind() == TypeKind::kAnyList ||
                            type.kind() == TypeKind::kString || type.kind() == TypeKind::kDict;
    if (cast.type->kind() == TypeKind::kBool && has_length) {
      IrValue* length = call_builtin(Symbol::kAtenLen, {value}, arguments.range);
      return sugared(call_builtin(Symbol::kAtenGt, {length, integer(0)}, arguments.range));
    }
  }
  return sugared(call_builtin(cast.symbol, arguments));
}

Sugared Emitter::call_method(IrValue* self, const std::string& method, Call arguments) {
  const FunctionSchema* schema = nullptr;
  if (const auto* type = self->type()->as<ClassType>()) {
    const Function* function = type->find_method(method);
    if (function == nullptr && type->is_torchbind()) {
      // What an operator's schema gave is the class by its name alone.
      const TypePtr known = program_.find_type(type->name());
      if (known != nullptr && known->as<ClassType>() != nullptr)
        function = known->as<ClassType>()->find_method(method);
      if (function == nullptr && program_.on_unknown) {
        program_.on_unknown(type->name() + "." + method);
        if (known != nullptr && known->as<ClassType>() != nullptr)
          function = known->as<ClassType>()->find_method(method);
      }
    }
    if (function == nullptr)
      throw source_error(arguments.range,
                         "Class '" + type->repr_str() + "' does not define a method '" + method + "'");
    schema = &function->schema();
  } else if (const auto* interface = self->type()->as<InterfaceType>()) {
    schema = interface->find_method(method);
  }
  if (schema == nullptr)
    throw source_error(arguments.range, "'" + self->type()->repr_str() + "' has no method '" + method + "'");
  arguments.arguments.insert(arguments.arguments.begin(), NamedValue{arguments.range, {}, self});
  const Match match = matcher_.match({schema}, arguments);
  IrNode* node = create(Symbol::kPrimCallMethod, match.inputs, 1, arguments.range);
  node->set_attribute(Symbol::kAttrName, method);
  return sugared(node->output()->set_type(match.results.empty() ? none_type() : match.results[0]));
}

Sugared Emitter::call_function(Function* function, const Call& arguments) {
  const Match match = matcher_.match({&function->schema()}, arguments);
  Constant target(Constant::FunctionValue{function});
  IrValue* callee =
      constants_.get(target, std::make_shared<FunctionType>(function->qualified_name(), function));
  std::vector<IrValue*> inputs = match.inputs;
  inputs.insert(inputs.begin(), callee);
  IrNode* node = create(Symbol::kPrimCallFunction, inputs, 1, arguments.range);
  return sugared(node->output()->set_type(match.results.empty() ? none_type() : match.results[0]));
}

IrValue* Emitter::call_builtin(Symbol symbol, const std::vector<IrValue*>& arguments,
                               const SourceRange& range) {
  Call call;
  call.range = range;
  for (IrValue* value : arguments) call.arguments.push_back({range, {}, value});
  return call_builtin(symbol, call);
}

IrValue* Emitter::call_builtin(Symbol symbol, const Call& arguments) {
  std::vector<const OperatorSchema*> overloads = program_.operators().overloads(symbol);
  if (overloads.empty() && program_.on_unknown) {
    program_.on_unknown(std::string(to_text(symbol)));
    overloads = program_.operators().overloads(symbol);
  }
  if (overloads.empty())
    throw source_error(arguments.range, "Unknown builtin op: " + std::string(to_text(symbol)) + ".");
  std::vector<const FunctionSchema*> schemas;
  std::vector<Function*> functions;  // what may take the call's place, behind the overloads
  if (is_archive_code_ && program_.operator_version() < kCurrentOperatorVersion) {
    std::vector<const OperatorSchema*> current;
    std::vector<const FunctionSchema*> old;
    for (const OperatorSchema* overload : overloads) {
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
    for (const OperatorSchema* overload : overloads) schemas.push_back(&overload->schema);
    schemas.insert(schemas.end(), old.begin(), old.end());
  } else {
    for (const OperatorSchema* overload : overloads) schemas.push_back(&overload->schema);
  }
  for (Function* function : program_.builtin_functions(symbol)) {
    functions.push_back(function);
    schemas.push_back(&function->schema());
  }
  const Match match = matcher_.match(schemas, arguments);
  if (match.schema >= overloads.size())
    return emit_inlined(*functions[match.schema - overloads.size()], match, arguments.range);
  const OperatorSchema& chosen = *overloads[match.schema];
  IrNode* node = matcher_.emit(chosen, match, arguments.range);
  if (chosen.schema.is_varret && node->outputs().empty()) return node->add_output();
  return node->outputs().size() == 1 ? node->output() : matcher_.tuple(node->outputs());
}

IrValue* Emitter::emit_inlined(const Function& function, const Match& match, const SourceRange& range) {
  const IrGraph& body = function.graph();
  std::unordered_map<IrValue*, IrValue*> given;
  for (std::size_t i = 0; i < match.inputs.size(); ++i) given[body.inputs().at(i)] = match.inputs[i];
  IrNode* before = graph_.insert_point()->previous();
  IrCloner cloner(graph_, [&](IrValue* value) { return given.at(value); });
  IrValue* result = cloner.clone_nodes(*body.block(), graph_.insert_point()).at(0);
  // It is the call's place that counts.
  for (IrNode* node = before->next(); node != graph_.insert_point(); node = node->next())
    node->set_source_range(range);
  return result;
}

// --- special forms ---

Sugared Emitter::emit_special(SpecialForm form, const Tree& expression, const TypePtr& hint,
                              const Sugared& callee) {
  const SourceRange range = range_of(expression);
  const Expressions arguments = expression.part(1).all();
  switch (form) {
    case SpecialForm::kAnnotate: {
      require_arguments(expression, 2, "annotate");
      const TypePtr type = types_.parse(*arguments[0]);
      IrValue* value = matcher_.convert(type, emit(*arguments[1], type), true, range);
      std::string why_not;
      if (!is_subtype(*value->type(), *type, &why_not))
        throw source_error(range, "expected an expression of type " + type->repr_str() + " but found " +
                                      value->type()->repr_str() + "\n" + why_not);
      // None that is annotated knows of what it could have been.
      if ((type->kind() == TypeKind::kOptional || type->kind() == TypeKind::kUnion) &&
          value->type()->kind() == TypeKind::kNone)
        value = constants_.get(Constant(), type, range);
      return sugared(value);
    }
    case SpecialForm::kUncheckedCast: {
      require_arguments(expression, 2, "unchecked_cast");
      const TypePtr type = types_.parse(*arguments[0]);
      IrValue* value = emit(*arguments[1]);
      // Refinements put one in already.
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
      if (arguments.size() < 2 || !arguments[1]->is(Syntax::kStringLiteral))
        throw source_error(range, "getattr's second argument must be a string literal");
      const Sugared object = emit_sugared(*arguments[0]);
      if (arguments.size() == 3 && !has_attribute(object, std::string(arguments[1]->text), range))
        return emit_sugared(*arguments[2]);
      return attribute(object, arguments[1]->text, range);
    }
    case SpecialForm::kHasattr:
      return sugared(emit_hasattr(expression).value);
    case SpecialForm::kIsinstance:
      return sugared(emit_isinstance(expression).value);
    case SpecialForm::kTuple: {
      require_arguments(expression, 1, "tuple");
      std::vector<IrValue*> items;
      for (const Sugared& item : as_tuple(emit_sugared(*arguments[0]), range))
        items.push_back(as_value(item, range));
      return sugared(matcher_.tuple(items));
    }
    case SpecialForm::kTolist: {
      if (hint == nullptr) throw source_error(range, "Expected type hint for result of tolist()");
      // Two more inputs say how deep the list is, and of what.
      const Type* element = hint.get();
      std::int64_t depth = 0;
      for (; element->kind() == TypeKind::kList; ++depth) element = element->contained_types()[0].get();
      const std::int64_t kind = element->kind() == TypeKind::kInt     ? 0
                                : element->kind() == TypeKind::kFloat ? 1
                                : element->kind() == TypeKind::kBool  ? 2
                                                                      : 3;
      IrNode* node = create(Symbol::kPrimTolist, {callee.value, integer(kind), integer(depth)}, 1, {});
      return sugared(node->output()->set_type(hint));
    }
    case SpecialForm::kCreateObject: {
      if (arguments.size() != 1) throw source_error(range, "Only one argument to __new__ allowed");
      const Sugared class_value = emit_sugared(*arguments[0]);
      if (!class_value.is(Sugared::Kind::kClass))
        throw source_error(range, std::string("Expected class value as argument to __new__, got ") +
                                      kind_text(class_value) + " instead");
      return sugared(create(Symbol::kPrimCreateObject, {}, 1, range)->output()->set_type(class_value.type));
    }
    case SpecialForm::kRange:
      return make_range(emit_all(arguments), range);
    case SpecialForm::kEnumerate: {
      if (arguments.empty() || arguments.size() > 2)
        throw source_error(range,
                           "enumerate expected 1 or 2 arguments, got " + std::to_string(arguments.size()));
      std::vector<IrValue*> bounds;
      if (arguments.size() == 2) bounds.push_back(emit(*arguments[1]));
      bounds.push_back(integer(std::numeric_limits<std::int64_t>::max(), range));
      Sugared iterated = as_iterable(emit_sugared(*arguments[0]), range);
      Sugared numbers = make_range(bounds, range);
      // As long as the other one.
      if (iterated.is(Sugared::Kind::kTuple)) {
        numbers.static_length = static_cast<std::int64_t>(iterated.parts.size());
      } else {
        numbers.static_length = iterated.static_length;
      }
      std::vector<Sugared> parts{std::move(numbers), std::move(iterated)};
      return make_iterables(std::move(parts), range);
    }
    case SpecialForm::kZip: {
      if (arguments.empty()) throw source_error(range, "zip expected at least 1 arguments, got 0");
      std::vector<Sugared> parts;
      for (const Tree* argument : arguments) parts.push_back(as_iterable(emit_sugared(*argument), range));
      return make_iterables(std::move(parts), range);
    }
    case SpecialForm::kList:
      return emit_list_call(expression, hint);
    case SpecialForm::kDict:
      return emit_dict_call(expression, hint);
    case SpecialForm::kFork:
      return emit_fork(expression, Symbol::kPrimFork);
    case SpecialForm::kAwaitable:
      return emit_fork(expression, Symbol::kPrimAwaitable);
  }
  throw source_error(range, "unknown special form");
}

Sugared Emitter::emit_list_call(const Tree& expression, const TypePtr& hint) {
  const SourceRange range = range_of(expression);
  if (expression.part(1).count == 0) {
    const bool hinted = hint != nullptr && hint->kind() == TypeKind::kList;
    return sugared(matcher_.list(hinted ? hint->as<ListType>()->element() : tensor_type(), {}));
  }
  require_arguments(expression, 1, "list");
  const Sugared iterated = emit_sugared(expression.part(1).part(0));
  if (iterated.is_value() && (iterated.value->type()->kind() == TypeKind::kList ||
                              iterated.value->type()->kind() == TypeKind::kString))
    return sugared(call_builtin(Symbol::kAtenList, {iterated.value}, range));
  // [element for element in iterated]
  Tree iterator, element, comprehension;
  iterator.kind = element.kind = Syntax::kName;
  iterator.text = environment_.keep("$_iter" + std::to_string(made_names_++));
  element.text = environment_.keep("$_elem" + std::to_string(made_names_++));
  const Tree* parts[] = {&element, &element, &iterator};
  comprehension.kind = Syntax::kListComprehension;
  comprehension.parts = parts;
  comprehension.count = 3;
  for (Tree* tree : {&iterator, &element, &comprehension}) {
    tree->begin = expression.begin;
    tree->end = expression.end;
  }
  environment_.set(range, iterator.text, iterated);
  return sugared(emit_comprehension(comprehension, hint));
}

Sugared Emitter::emit_dict_call(const Tree& expression, const TypePtr& hint) {
  const SourceRange range = range_of(expression);
  const Expressions arguments = expression.part(1).all();
  IrValue* dict = nullptr;
  if (arguments.empty() || ((arguments[0]->is(Syntax::kListLiteral) && arguments[0]->count == 0) ||
                            (arguments[0]->is(Syntax::kDictLiteral) && arguments[0]->part(0).count == 0))) {
    TypePtr type = hint != nullptr && hint->kind() == TypeKind::kDict ? hint : nullptr;
    std::vector<IrValue*> inputs;
    for (const Tree* keyword : expression.part(2).all()) {
      inputs.push_back(constant(Constant(std::string(keyword->text)), range));
      inputs.push_back(emit(keyword->part(0)));
    }
    if (type == nullptr) type = dict_type(string_type(), inputs.empty() ? tensor_type() : inputs[1]->type());
    return sugared(create(Symbol::kPrimDictConstruct, inputs, 1, {})->output()->set_type(type));
  }
  if (arguments.size() != 1) throw source_error(range, "dict expected at most 1 argument");
  dict = call_builtin(Symbol::kAtenDict, {emit(*arguments[0], hint)}, range);
  for (const Tree* keyword : expression.part(2).all()) {
    IrValue* key = constant(Constant(std::string(keyword->text)), range);
    call_builtin(Symbol::kAtenSetItem, {dict, key, emit(keyword->part(0))}, range);
  }
  return sugared(dict);
}

// The body stands in a closure until cleanup.h makes it a graph of its own.
Sugared Emitter::emit_fork(const Tree& expression, Symbol kind) {
  const SourceRange range = range_of(expression);
  const Expressions arguments = expression.part(1).all();
  if (arguments.empty()) throw source_error(range, "Expected at least one argument to fork()");
  const Sugared forked = emit_sugared(*arguments[0]);
  Call call_arguments;
  call_arguments.range = range;
  for (IrValue* value : emit_all(arguments.subspan(1)))
    call_arguments.arguments.push_back({range, {}, value});
  for (const Tree* keyword : expression.part(2).all())
    call_arguments.keywords.push_back({range_of(*keyword), keyword->text, emit(keyword->part(0))});
  IrValue* closure = nullptr;
  if (forked.is(Sugared::Kind::kClosure)) {
    closure = forked.value;
  } else {
    closure = emit_closure(
        [&](IrBlock* block) { block->add_output(as_value(call(forked, std::move(call_arguments)), range)); });
  }
  const TypePtr type = closure->node()->blocks().at(0)->outputs().at(0)->type();
  IrNode* node = create(kind, {closure}, 1, range);
  return sugared(node->output()->set_type(kind == Symbol::kPrimFork ? future_type(type) : await_type(type)));
}

}  // namespace fxtrace::script
