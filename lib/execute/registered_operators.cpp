// Calls operators by name: matches arguments to the schemas of the overloads, and converts them as
// TorchScript does.
#include <exception>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/enum_type.h>
#include <dlfcn.h>
#include <torch/csrc/jit/runtime/operator.h>
#include <torch/custom_class.h>

#include "execute/engine_value.h"
#include "execute/plugin.h"

namespace fxtrace::internal::execute {
namespace {

using c10::IValue;
using c10::TypeKind;
using c10::TypePtr;

at::Tensor number_tensor(const at::Scalar& number) {
  at::Tensor tensor = at::scalar_tensor(number, at::TensorOptions().dtype(number.type()));
  tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}

bool fit(IValue& value, const TypePtr& type, bool convert);

bool fit_list(IValue& value, const c10::ListType& type, bool convert) {
  const TypePtr& element = type.getElementType();
  std::vector<IValue> items;
  if (value.isList()) {
    if (element->kind() == TypeKind::VarType || *value.toList().elementType() == *element) return true;
    items = value.toListRef().vec();
  } else if (value.isTuple() && convert) {
    items = value.toTupleRef().elements().vec();
  } else {
    return false;
  }
  c10::impl::GenericList list(element);
  list.reserve(items.size());
  for (IValue& item : items) {
    if (!fit(item, element, convert)) return false;
    list.push_back(std::move(item));
  }
  value = list;
  return true;
}

bool fit_tuple(IValue& value, const c10::TupleType& type, bool convert) {
  if (convert && value.isGenericDict() &&
      type.schema()) {  // a named tuple may be given as a dict of its fields
    std::vector<IValue> fields;
    for (const c10::Argument& field : type.schema()->arguments()) {
      const auto found = value.toGenericDict().find(field.name());
      if (found == value.toGenericDict().end()) return false;
      fields.push_back(found->value());
    }
    value = c10::ivalue::Tuple::create(std::move(fields));
  }
  if (!value.isTuple()) return false;
  std::vector<IValue> items = value.toTupleRef().elements().vec();
  if (items.size() != type.elements().size()) return false;
  for (size_t i = 0; i < items.size(); ++i) {
    if (!fit(items[i], type.elements()[i], convert)) return false;
  }
  value = c10::ivalue::Tuple::create(std::move(items));
  return true;
}

bool fit_dict(IValue& value, const c10::DictType& type, bool convert) {
  if (!value.isGenericDict()) return false;
  const auto given = value.toGenericDict();
  if (type.getValueType()->kind() == TypeKind::VarType || type.getKeyType()->kind() == TypeKind::VarType) {
    return true;
  }
  if (*given.keyType() == *type.getKeyType() && *given.valueType() == *type.getValueType()) return true;
  c10::impl::GenericDict dict(type.getKeyType(), type.getValueType());
  for (const auto& item : given) {
    IValue key = item.key();
    IValue held = item.value();
    if (!fit(key, type.getKeyType(), convert) || !fit(held, type.getValueType(), convert)) return false;
    dict.insert(key, held);
  }
  value = dict;
  return true;
}

// Returns whether the value is of the type, or was converted to it: `convert` allows the implicit conversions
// of TorchScript.
bool fit(IValue& value, const TypePtr& type, bool convert) {
  switch (type->kind()) {
    case TypeKind::AnyType:
    case TypeKind::VarType:
      return true;
    case TypeKind::NoneType:
      return value.isNone();
    case TypeKind::OptionalType:
      return value.isNone() || fit(value, type->expectRef<c10::OptionalType>().getElementType(), convert);
    case TypeKind::UnionType:
      for (const TypePtr& part : type->expectRef<c10::UnionType>().containedTypes()) {
        if (fit(value, part, convert)) return true;
      }
      return false;
    case TypeKind::TensorType:
      if (value.isTensor()) return true;
      if (!convert || !value.isScalar()) return false;
      value = number_tensor(value.toScalar());
      return true;
    case TypeKind::BoolType:
      if (!value.isBool() && convert && value.isTensor()) value = value.toTensor().item().toBool();
      return value.isBool();
    case TypeKind::IntType:
    case TypeKind::SymIntType:
      if (convert && value.isBool()) value = static_cast<int64_t>(value.toBool());
      if (convert && value.isTensor()) value = value.toTensor().item().toLong();
      return value.isInt();
    case TypeKind::FloatType:
      if (convert && value.isInt()) value = static_cast<double>(value.toInt());
      if (convert && value.isTensor()) value = value.toTensor().item().toDouble();
      return value.isDouble();
    case TypeKind::ComplexType:
      if (convert && (value.isInt() || value.isDouble())) value = value.toScalar().toComplexDouble();
      return value.isComplexDouble();
    case TypeKind::NumberType:
      if (convert && value.isTensor()) value = value.toTensor().item();
      return value.isScalar() && (convert || !value.isBool());
    case TypeKind::StringType:
      return value.isString();
    case TypeKind::DeviceObjType:
      if (convert && value.isString()) value = c10::Device(value.toStringRef());
      return value.isDevice();
    case TypeKind::ListType:
      return fit_list(value, type->expectRef<c10::ListType>(), convert);
    case TypeKind::TupleType:
      return fit_tuple(value, type->expectRef<c10::TupleType>(), convert);
    case TypeKind::DictType:
      return fit_dict(value, type->expectRef<c10::DictType>(), convert);
    case TypeKind::EnumType: {
      if (value.isEnum()) return true;
      const auto of = type->cast<c10::EnumType>();
      for (const auto& [name, held] : of->enumNamesValues()) {
        if (!(held == value)) continue;
        value = IValue(c10::make_intrusive<c10::ivalue::EnumHolder>(of, name, held));
        return true;
      }
      return false;
    }
    case TypeKind::FutureType: {
      if (value.isFuture()) return true;
      const TypePtr& element = type->expectRef<c10::FutureType>().getElementType();
      if (!fit(value, element, convert)) return false;
      const auto done = c10::make_intrusive<c10::ivalue::Future>(element);
      done->markCompleted(std::move(value));
      value = done;
      return true;
    }
    default:
      return value.type()->isSubtypeOf(*type);
  }
}

bool fit_argument(IValue& value, const c10::Argument& argument, bool convert) {
  TypePtr type = argument.type();
  if (const auto optional = type->cast<c10::OptionalType>()) type = optional->getElementType();
  // A single number stands for both items of int[2].
  const auto list = type->cast<c10::ListType>();
  if (list && argument.N() && (value.isInt() || value.isDouble())) {
    c10::impl::GenericList repeated(list->getElementType());
    for (int32_t i = 0; i < *argument.N(); ++i) {
      IValue item = value;
      if (!fit(item, list->getElementType(), true)) return false;
      repeated.push_back(item);
    }
    value = repeated;
    return true;
  }
  return fit(value, argument.type(), convert);
}

// Returns the values by parameter; nothing, and the reason in `why`, if they do not match the schema.
std::optional<std::vector<IValue>> match(const c10::FunctionSchema& schema, const FxtraceArguments& arguments,
                                         bool convert, std::string& why) {
  const auto& parameters = schema.arguments();
  std::vector<std::optional<IValue>> given(parameters.size());
  std::vector<IValue> rest;
  for (size_t i = 0; i < arguments.positional_count; ++i) {
    if (i < parameters.size() && !parameters[i].kwarg_only()) {
      given[i] = arguments.positional[i]->value;
    } else if (schema.is_vararg()) {
      rest.push_back(arguments.positional[i]->value);
    } else {
      why = "it takes fewer than " + std::to_string(arguments.positional_count) + " arguments";
      return std::nullopt;
    }
  }
  for (size_t i = 0; i < arguments.named_count; ++i) {
    const auto at = schema.argumentIndexWithName(arguments.names[i]);
    if (!at || given[static_cast<size_t>(*at)]) {
      why = std::string("it does not take ") + arguments.names[i];
      return std::nullopt;
    }
    given[static_cast<size_t>(*at)] = arguments.named[i]->value;
  }
  std::vector<IValue> stack;
  stack.reserve(parameters.size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    const c10::Argument& parameter = parameters[i];
    if (!given[i]) {
      if (!parameter.default_value()) {
        why = parameter.name() + " is missing";
        return std::nullopt;
      }
      stack.push_back(*parameter.default_value());
      continue;
    }
    if (!fit_argument(*given[i], parameter, convert)) {
      why = parameter.name() + " expects " + parameter.type()->str() + ", got " + given[i]->type()->str();
      return std::nullopt;
    }
    stack.push_back(std::move(*given[i]));
  }
  if (schema.is_vararg()) {
    const auto count = static_cast<int64_t>(rest.size() + parameters.size());
    for (IValue& value : rest) stack.push_back(std::move(value));
    stack.emplace_back(count);
  }
  return stack;
}

IValue result_of(std::vector<IValue> stack) {
  if (stack.empty()) return {};
  if (stack.size() == 1) return std::move(stack.front());
  return c10::ivalue::Tuple::create(std::move(stack));
}

IValue call(const std::string& name, const char* overload, const FxtraceArguments& arguments) {
  const auto& operators = torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(name));
  TORCH_CHECK(!operators.empty(), "there is no operator ", name);
  std::string why = "it has no such overload";
  for (const bool convert : {false, true}) {
    for (const auto& candidate : operators) {
      const c10::FunctionSchema& schema = candidate->schema();
      if (overload != nullptr && schema.overload_name() != overload) continue;
      if (!candidate->hasOperation()) {  // an operator whose node has attributes that tell what it does
        why = "it belongs to TorchScript's own graphs";
        continue;
      }
      auto stack = match(schema, arguments, convert, why);
      if (!stack) continue;
      candidate->getOperation()(*stack);
      return result_of(std::move(*stack));
    }
  }
  TORCH_CHECK(false, name, overload == nullptr || *overload == '\0' ? "" : std::string(".") + overload,
              " does not take these arguments: ", why);
}

}  // namespace

std::vector<IValue> bound(const c10::FunctionSchema& schema, const FxtraceArguments& arguments) {
  std::string why;
  auto stack = match(schema, arguments, true, why);
  TORCH_CHECK(stack, schema.name(), " does not take these arguments: ", why);
  return std::move(*stack);
}

void add_calls(FxtraceEngine& engine) {
  engine.call = [](const char* name, const char* overload, const FxtraceArguments* arguments) {
    return value_of([&] { return call(name, overload, *arguments); });
  };
}

}  // namespace fxtrace::internal::execute

// Loads shared libraries of custom operators, and declares all operators and methods that are registered.

namespace {

void declare_all(FxtraceDeclare declare, void* context) {
  const auto tell = [&](const std::string& class_name, const c10::FunctionSchema& schema) {
    std::ostringstream text;
    text << schema;
    declare(context, class_name.c_str(), text.str().c_str());
  };
  for (const auto& op : torch::jit::getAllOperators()) tell("", op->schema());
  for (const c10::FunctionSchema& schema : torch::customClassSchemasForBCCheck()) {
    // The first argument of a method is its object; a schema without arguments does not tell its class.
    if (schema.arguments().empty()) continue;
    const auto type = schema.arguments().front().type()->cast<c10::ClassType>();
    if (type && type->name()) tell(type->name()->qualifiedName(), schema);
  }
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const char* fxtrace_load_operators(
    const char* const* libraries, size_t count, FxtraceDeclare declare, void* context) {
  static std::string failure;
  try {
    for (size_t i = 0; i < count; ++i) {
      if (::dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL) != nullptr) continue;
      const char* why = ::dlerror();
      failure = std::string("cannot load ") + libraries[i] + ": " + (why == nullptr ? "" : why);
      return failure.c_str();
    }
    declare_all(declare, context);
    return nullptr;
  } catch (const std::exception& e) {
    failure = e.what();
  }
  return failure.c_str();
}
