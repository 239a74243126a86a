// The part of the Emitter (emitter.h) for operations of sugared values: conversion to a value, unpacking,
// items, and reading and setting attributes.
#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "support/error.h"
#include "support/text/identifier.h"
#include "support/text/numbers.h"
#include "torchscript/compiler/emitter.h"

namespace fxtrace::internal::torchscript {

const char* kind_text(const SugaredValue& value) {
  switch (value.kind) {
    case SugaredValue::Kind::kNothing:
      return "None";
    case SugaredValue::Kind::kValue:
      return "value";
    case SugaredValue::Kind::kBuiltin:
    case SugaredValue::Kind::kMagic:
    case SugaredValue::Kind::kCast:
    case SugaredValue::Kind::kTensorCast:
    case SugaredValue::Kind::kPrint:
      return "builtin";
    case SugaredValue::Kind::kMethod:
      return "method";
    case SugaredValue::Kind::kFunction:
    case SugaredValue::Kind::kClosure:
      return "function";
    case SugaredValue::Kind::kClass:
    case SugaredValue::Kind::kNamedTuple:
    case SugaredValue::Kind::kEnumClass:
      return "class";
    case SugaredValue::Kind::kNamespace:
      return "Class Namespace";
    case SugaredValue::Kind::kOperators:
      return "ops";
    case SugaredValue::Kind::kOperatorNamespace:
      return "builtin module";
    case SugaredValue::Kind::kConstants:
      return "CONSTANTS";
    case SugaredValue::Kind::kSpecial:
      return "special form";
  }
  return "value";
}

// --- conversion, unpacking and items ---

IrValue* Emitter::as_value(const SugaredValue& value, const SourceRange& range) {
  switch (value.kind) {
    case SugaredValue::Kind::kValue:
      use(*value.value);
      return value.value;
    case SugaredValue::Kind::kNothing:
      return constant(ScriptConstant(), range);
    case SugaredValue::Kind::kFunction: {
      ScriptConstant function(ScriptConstant::FunctionValue{value.function});
      return constants_.get_constant(
          function, std::make_shared<FunctionType>(value.function->qualified_name(), value.function), range);
    }
    default:
      throw SourceError(range, std::string(kind_text(value)) + " cannot be used as a value");
  }
}

std::vector<IrValue*> Emitter::as_tuple(const SugaredValue& value, const SourceRange& range,
                                        std::optional<std::size_t> count) {
  IrValue* tuple = as_value(value, range);
  if (const auto* open = tuple->type()->as<OpenType>(); open != nullptr && count) {
    IrNode* node = create(Symbol::kPrimTupleUnpack, {tuple}, 0, {});
    const std::vector<TypePtr>& items = open->take_apart(*count);
    for (std::size_t i = 0; i < *count; ++i) node->add_output(items[i]);
    return node->outputs();
  }
  if (tuple->type()->kind() == TypeKind::kTuple) return matcher_.unpack(tuple);
  const auto* list = tuple->type()->as<ListType>();
  if (list == nullptr) throw SourceError(range, tuple->type()->repr_str() + " cannot be used as a tuple");
  if (!count) throw SourceError(range, "cannot statically infer the expected size of a list in this context");
  IrNode* node = create(Symbol::kPrimListUnpack, {tuple}, 0, {});
  std::vector<IrValue*> items;
  for (std::size_t i = 0; i < *count; ++i) items.push_back(node->add_output(list->element()));
  return items;
}

SugaredValue Emitter::item_of(IrValue* value, IrValue* index, const SourceRange& range, const TypePtr& hint) {
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
      throw SourceError(range, "'" + value->type()->repr_str() + "' object is not subscriptable");
  }
}

// --- attributes ---

SugaredValue Emitter::attribute(const SugaredValue& value, std::string_view name, const SourceRange& range) {
  switch (value.kind) {
    case SugaredValue::Kind::kValue:
      return attribute_of_value(value.value, name, range);
    case SugaredValue::Kind::kClass: {
      const auto& type = *value.type->as<ClassType>();
      if (Function* hook = type.find_hook(std::string(name))) return sugared(hook);
      if (name == "__new__") return sugared_special(SpecialForm::kCreateObject);
      // Static methods are saved as methods, and called by the class.
      if (Function* method = type.find_method(name)) return sugared(method);
      throw SourceError(range, "Tried to lookup unknown attribute on class " + type.annotation_str());
    }
    case SugaredValue::Kind::kEnumClass: {
      const auto type = std::static_pointer_cast<const EnumType>(value.type);
      const auto index = type->find_member(name);
      if (!index)
        throw SourceError(range, type->repr_str() + "' has no attribute '" + std::string(name) + "'");
      return sugared(
          constants_.get_constant(ScriptConstant(ScriptConstant::EnumMember{type, *index}), type, range));
    }
    case SugaredValue::Kind::kNamespace:
    case SugaredValue::Kind::kOperators:
    case SugaredValue::Kind::kOperatorNamespace:
    case SugaredValue::Kind::kConstants:
      return attribute_of_namespace(value, name, range);
    default:
      throw SourceError(range, std::string("attribute lookup is not defined on ") + kind_text(value));
  }
}

SugaredValue Emitter::attribute_of_namespace(const SugaredValue& value, std::string_view name,
                                             const SourceRange& range) {
  switch (value.kind) {
    case SugaredValue::Kind::kNamespace:
      return resolve_global(value.text + "." + std::string(name), range);
    case SugaredValue::Kind::kOperators:
      return sugared_text(SugaredValue::Kind::kOperatorNamespace, name);
    case SugaredValue::Kind::kOperatorNamespace:
      if (name == "autograd") return value;
      return sugared_builtin(intern(value.text + "::" + std::string(name)));
    default: {  // CONSTANTS.c3
      const auto index = number_in<std::size_t>(name.substr(1));
      if (!index) throw SourceError(range, "invalid constant specifier: " + std::string(name));
      if (*index >= program_.constant_types().size())
        throw SourceError(range, "constant index " + std::to_string(*index) +
                                     " is out of bounds (constant table has " +
                                     std::to_string(program_.constant_types().size()) + " entries)");
      if (const std::string* text = program_.find_constant_text(*index))
        return sugared(constant(ScriptConstant(*text), range));
      return sugared(constants_.get_constant(ScriptConstant(ScriptConstant::TableEntry{*index}),
                                             program_.constant_types()[*index], range));
    }
  }
}

SugaredValue Emitter::resolve_global(const std::string& qualified, const SourceRange&) {
  if (const TypePtr type = program_.find_type(qualified)) {
    SugaredValue result;
    result.type = type;
    if (type->kind() == TypeKind::kClass) result.kind = SugaredValue::Kind::kClass;
    if (type->kind() == TypeKind::kTuple) result.kind = SugaredValue::Kind::kNamedTuple;
    if (type->kind() == TypeKind::kEnum) result.kind = SugaredValue::Kind::kEnumClass;
    if (result.kind != SugaredValue::Kind::kNothing) return result;
  }
  if (Function* function = program_.find_function(qualified)) return sugared(function);
  return sugared_text(SugaredValue::Kind::kNamespace, qualified);
}

namespace {

// Returns whether a value of the kind has a property that is an operator (prim::dtype).
bool is_property(TypeKind kind, std::string_view name) {
  static constexpr std::array<std::string_view, 30> kOfTensors{
      "H",         "T",       "data",      "device",       "dtype",         "grad",
      "is_cpu",    "is_cuda", "is_ipu",    "is_maia",      "is_meta",       "is_mkldnn",
      "is_mps",    "is_mtia", "is_nested", "is_quantized", "is_sparse",     "is_sparse_csr",
      "is_vulkan", "is_xla",  "is_xpu",    "itemsize",     "layout",        "mH",
      "mT",        "name",    "nbytes",    "ndim",         "requires_grad", "shape"};
  if (kind == TypeKind::kDevice) return name == "type" || name == "index";
  if (kind == TypeKind::kOptional) return name == "unchecked_unwrap_optional";
  if (kind != TypeKind::kTensor) return false;
  return std::binary_search(kOfTensors.begin(), kOfTensors.end(), name);
}

// Returns the dtype of a method that casts a tensor: x.float() is x.to(float32).
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

SugaredValue Emitter::attribute_of_value(IrValue* value, std::string_view name, const SourceRange& range) {
  const Type& type = *value->type();
  use(*value);
  const auto method = [&]() -> SugaredValue {
    return {.kind = SugaredValue::Kind::kMethod, .value = value, .text = std::string(name)};
  };
  if (type.kind() == TypeKind::kTensor) {
    if (const auto dtype = cast_method(name))
      return {.kind = SugaredValue::Kind::kTensorCast, .value = value, .number = *dtype};
  }
  if (is_property(type.kind(), name)) {
    // Properties that LibTorch implements in TorchScript.
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
    if (class_type->find_method(name) != nullptr) return method();
    if (const ClassAttribute* found = class_type->find_attribute(name)) {
      IrNode* node = create(Symbol::kPrimGetAttr, {value}, 1, {});
      node->set_attribute(Symbol::kAttrName, std::string(name));
      node->output()->set_type(found->type);
      const bool is_number = std::all_of(name.begin(), name.end(), is_digit);
      node->output()->set_name(is_number ? "_" + std::string(name) : std::string(name));
      return sugared(node->output());
    }
    if (const ScriptConstant* found = class_type->find_constant(std::string(name)))
      return sugared(constant(*found, range));
    if (class_type->is_torchbind()) {
      if (program_.on_unknown) program_.on_unknown(class_type->name() + "." + std::string(name));
      if (class_type->find_method(name) != nullptr) return attribute_of_value(value, name, range);
      if (program_.undeclared != nullptr) return method();
    }
  } else if (const auto* interface = type.as<InterfaceType>()) {
    if (interface->find_method(name) != nullptr) return method();
  } else if (const auto* enumeration = type.as<EnumType>();
             enumeration != nullptr && (name == "name" || name == "value")) {
    const bool is_name = name == "name";
    IrNode* node = create(is_name ? Symbol::kPrimEnumName : Symbol::kPrimEnumValue, {value}, 1, {});
    return sugared(node->output()->set_type(is_name ? string_type() : enumeration->value_type()));
  }
  if (name == "type") {
    if (auto builtin = find_builtin_method(value, "to")) return *builtin;
  }
  if (auto builtin = find_builtin_method(value, name)) return *builtin;
  if (type.kind() == TypeKind::kTensor && name == "tolist")
    return {.kind = SugaredValue::Kind::kSpecial, .form = SpecialForm::kTolist, .value = value};
  throw SourceError(range, "Tried to access nonexistent attribute or method '" + std::string(name) +
                               "' of type '" + type.repr_str() + "'." +
                               (type.kind() == TypeKind::kClass
                                    ? " Did you forget to initialize an attribute in __init__()?"
                                    : ""));
}

std::optional<SugaredValue> Emitter::find_builtin_method(IrValue* self, std::string_view name) {
  const Symbol symbol = intern("aten::" + std::string(name));
  for (const FunctionSchema* overload : program_.operators().overloads(symbol)) {
    const auto at = overload->find_argument("self");
    if (!at) continue;
    TypeBindings bindings;
    const TypePtr& formal = overload->arguments[*at].type;
    if (match_variables(formal, self->type(), bindings)) continue;
    const TypePtr type = substitute(formal, bindings);
    if (type != nullptr && is_subtype(*self->type(), *type)) return sugared_builtin(symbol, self);
  }
  return std::nullopt;
}

void Emitter::set_attribute(const SugaredValue& object, std::string_view name, IrValue* value,
                            const SourceRange& range, const SourceRange& place) {
  IrValue* holder = as_value(object, range);
  const auto* type = holder->type()->as<ClassType>();
  if (type == nullptr)
    throw SourceError(range, "Tried to set an attribute: " + std::string(name) +
                                 " on a non-class: " + holder->type()->repr_str());
  const ClassAttribute* wanted = type->find_attribute(name);
  if (wanted == nullptr)
    throw SourceError(range, "Tried to set nonexistent attribute: " + std::string(name) +
                                 ". Did you forget to initialize it in __init__()?");
  expect(*value, wanted->type);
  if (!is_subtype(*value->type(), *wanted->type))
    throw SourceError(range, "Wrong type for attribute assignment. Expected " + wanted->type->repr_str() +
                                 " but got " + value->type()->repr_str());
  create(Symbol::kPrimSetAttr, {holder, value}, 0, place)
      ->set_attribute(Symbol::kAttrName, std::string(name));
}

}  // namespace fxtrace::internal::torchscript
