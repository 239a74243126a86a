#include "torchscript/root_inputs.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <utility>

#include "support/error.h"
#include "support/nearest.h"
#include "torchscript/convert.h"

namespace fxtrace {
namespace {

bool is_placeholder(const Argument& value) {
  const auto* text = value.get_if<std::string>();
  return text != nullptr && *text == kConcretePlaceholder;
}

// How a plain value is written in Python.
std::string python_text(const at::IValue& value) {
  if (value.isNone()) return "None";
  if (value.isBool()) return value.toBool() ? "True" : "False";
  std::ostringstream text;
  if (value.isString()) {
    text << '"' << value.toStringRef() << '"';
  } else {
    text << value;
  }
  return text.str();
}

const char* json_kind(const Argument& value) {
  if (value.is<Argument::None>()) return "null";
  if (value.is<bool>()) return "a boolean";
  if (value.is<std::int64_t>()) return "an integer";
  if (value.is<double>()) return "a number";
  if (value.is<std::string>()) return "a string";
  return value.is<Argument::List>() ? "an array" : "an object";
}

}  // namespace

RootInputs::RootInputs(const c10::FunctionSchema& schema, const TraceOptions& options,
                       MakePlaceholder make_placeholder, Guard guard)
    : schema_(schema),
      options_(options),
      make_placeholder_(std::move(make_placeholder)),
      guard_(std::move(guard)) {}

void RootInputs::fail(const std::string& what) const {
  std::string inputs;
  for (std::size_t i = 1; i < schema_.arguments().size(); ++i) {
    const auto& formal = schema_.arguments()[i];
    inputs += (inputs.empty() ? "" : ", ") + formal.name() + ": " + type_name(*formal.real_type());
    if (formal.default_value()) inputs += " = " + python_text(*formal.default_value());
  }
  throw usage_error(what, {inputs.empty() ? "the method has no inputs" : "the inputs are " + inputs});
}

void RootInputs::check_names() const {
  std::vector<std::string> known;
  for (std::size_t i = 1; i < schema_.arguments().size(); ++i) known.push_back(schema_.arguments()[i].name());
  const auto check = [&](const std::string& name) {
    if (std::find(known.begin(), known.end(), name) != known.end()) return;
    const std::string nearest = find_nearest(name, known);
    fail("there is no input '" + name + "'" + (nearest.empty() ? "" : ", did you mean '" + nearest + "'?"));
  };
  for (const auto& concrete : options_.concrete) check(concrete.name);
  if (options_.input_names) {
    for (const auto& name : *options_.input_names) check(name);
  }
}

std::vector<BoundInput> RootInputs::bind() {
  check_names();
  std::vector<BoundInput> bound;
  for (std::size_t i = 1; i < schema_.arguments().size(); ++i) {
    const auto& formal = schema_.arguments()[i];
    const std::string& name = formal.name();
    const auto concrete = std::find_if(options_.concrete.rbegin(), options_.concrete.rend(),
                                       [&](const ConcreteArg& item) { return item.name == name; });
    const at::IValue* default_value = formal.default_value() ? &*formal.default_value() : nullptr;
    const bool is_fixed = concrete != options_.concrete.rend() && !is_placeholder(concrete->value);
    if (is_fixed) {
      bound.push_back(bind_value(concrete->value, formal.real_type(), name, name));
      continue;
    }
    const auto& names = options_.input_names;
    const bool remains = !names || concrete != options_.concrete.rend() ||
                         std::find(names->begin(), names->end(), name) != names->end();
    if (remains) {
      // Who names an input passes it.
      const bool is_named = names || concrete != options_.concrete.rend();
      bound.push_back(is_named && formal.type()->kind() == c10::TypeKind::OptionalType
                          ? present(formal.type(), name, name)
                          : make_placeholder_(name, formal.type(), &formal));
      continue;
    }
    const bool may_be_none = formal.real_type()->kind() == c10::TypeKind::OptionalType;
    if (default_value == nullptr && !may_be_none) {
      fail("input '" + name + "' is not among --input-names and has no default");
    }
    const at::IValue value = default_value != nullptr ? default_value->deepcopy() : at::IValue();
    bound.push_back({value, std::nullopt});
    guard_(value.isNone() ? name + " is None" : name + " == " + python_text(value));
  }
  return bound;
}

// An input that remains, and is not None.
BoundInput RootInputs::present(const c10::TypePtr& type, const std::string& name, const std::string& expr) {
  const auto optional = type->cast<c10::OptionalType>();
  if (!optional) return make_placeholder_(name, type, nullptr);
  guard_(expr + " is not None");
  return make_placeholder_(name, optional->getElementType(), nullptr);
}

BoundInput RootInputs::bind_value(const Argument& value, const c10::TypePtr& type, const std::string& name,
                                  const std::string& expr) {
  if (is_placeholder(value)) return present(type, name, expr);
  const auto wrong = [&] [[noreturn]] () {
    fail("'" + expr + "' is " + type_name(*type) + ", which " + json_kind(value) + " does not fit");
  };
  const auto fixed = [&](at::IValue plain, Argument argument) -> BoundInput {
    guard_(plain.isNone() ? expr + " is None" : expr + " == " + python_text(plain));
    return {std::move(plain), std::move(argument)};
  };
  if (const auto optional = type->cast<c10::OptionalType>()) {
    if (value.is<Argument::None>()) return fixed(at::IValue(), Argument::None{});
    return bind_value(value, optional->getElementType(), name, expr);
  }
  const auto* integer = value.get_if<std::int64_t>();
  const auto* number = value.get_if<double>();
  switch (type->kind()) {
    case c10::TypeKind::TensorType:
      if (value.is<Argument::None>()) wrong();
      return make_placeholder_(name, type,
                               nullptr);  // whatever stands there: values of tensors are never fixed
    case c10::TypeKind::NoneType:
      if (!value.is<Argument::None>()) wrong();
      return fixed(at::IValue(), Argument::None{});
    case c10::TypeKind::BoolType:
      if (!value.is<bool>()) wrong();
      return fixed(*value.get_if<bool>(), value);
    case c10::TypeKind::IntType:
      if (integer == nullptr) wrong();
      return fixed(*integer, value);
    case c10::TypeKind::FloatType:
      if (integer == nullptr && number == nullptr) wrong();
      return fixed(number != nullptr ? *number : static_cast<double>(*integer),
                   number != nullptr ? value : Argument(static_cast<double>(*integer)));
    case c10::TypeKind::NumberType:
      if (integer != nullptr) return fixed(*integer, value);
      if (number == nullptr) wrong();
      return fixed(*number, value);
    case c10::TypeKind::StringType:
      if (!value.is<std::string>()) wrong();
      return fixed(*value.get_if<std::string>(), value);
    case c10::TypeKind::DeviceObjType:
      if (!value.is<std::string>()) wrong();
      try {
        return fixed(c10::Device(*value.get_if<std::string>()),
                     Argument::Device{*value.get_if<std::string>()});
      } catch (const c10::Error&) {
        fail("'" + expr + "': there is no device '" + *value.get_if<std::string>() + "'");
      }
    case c10::TypeKind::ListType:
      if (!value.is<Argument::List>()) wrong();
      return bind_list(*value.get_if<Argument::List>(), type, name, expr);
    case c10::TypeKind::DictType:
      if (!value.is<Argument::Dict>()) wrong();
      return bind_dict(*value.get_if<Argument::Dict>(), type, name, expr);
    case c10::TypeKind::TupleType:
      if (!value.is<Argument::List>() && !value.is<Argument::Dict>()) wrong();
      return bind_tuple(value, type, name, expr);
    default:
      fail("'" + expr + "' is " + type_name(*type) + ", for which no value can be given");
  }
}

BoundInput RootInputs::bind_list(const Argument::List& list, const c10::TypePtr& type,
                                 const std::string& name, const std::string& expr) {
  const auto& element = type->expectRef<c10::ListType>().getElementType();
  c10::impl::GenericList values(element);
  Argument::List arguments;
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    const std::string index = std::to_string(i);
    auto [value, argument] = bind_value(list.items[i], element, name + "_" + index, expr + "[" + index + "]");
    values.push_back(std::move(value));
    arguments.items.push_back(std::move(*argument));
  }
  return {at::IValue(values), std::move(arguments)};
}

BoundInput RootInputs::bind_dict(const Argument::Dict& dict, const c10::TypePtr& type,
                                 const std::string& name, const std::string& expr) {
  const auto& dict_type = type->expectRef<c10::DictType>();
  c10::impl::GenericDict values(dict_type.getKeyType(), dict_type.getValueType());
  Argument::Dict arguments;
  for (const auto& [json_key, item] : dict.items) {
    const std::string& text = *json_key.get_if<std::string>();
    at::IValue key = text;
    Argument key_argument = text;
    std::string key_text = "\"" + text + "\"";
    if (dict_type.getKeyType()->kind() == c10::TypeKind::IntType) {
      std::int64_t number = 0;
      const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
      if (read.ec != std::errc() || read.ptr != text.data() + text.size()) {
        fail("keys of '" + expr + "' are integers, and '" + text + "' is none");
      }
      key = number;
      key_argument = number;
      key_text = text;
    } else if (dict_type.getKeyType()->kind() != c10::TypeKind::StringType) {
      fail("keys of '" + expr + "' are " + type_name(*dict_type.getKeyType()) + ", which JSON cannot say");
    }
    auto [value, argument] =
        bind_value(item, dict_type.getValueType(), name + "_" + text, expr + "[" + key_text + "]");
    values.insert_or_assign(std::move(key), std::move(value));
    arguments.items.push_back({std::move(key_argument), std::move(*argument)});
  }
  return {at::IValue(values), std::move(arguments)};
}

// An array, or of a named tuple an object with its fields.
BoundInput RootInputs::bind_tuple(const Argument& value, const c10::TypePtr& type, const std::string& name,
                                  const std::string& expr) {
  const auto& tuple = type->expectRef<c10::TupleType>();
  const auto& elements = tuple.elements();
  std::vector<std::string> fields;
  if (tuple.schema()) {
    for (const auto& field : tuple.schema()->arguments()) fields.push_back(field.name());
  }
  std::vector<const Argument*> items(elements.size(), nullptr);
  if (const auto* list = value.get_if<Argument::List>()) {
    if (list->items.size() != elements.size()) {
      fail("'" + expr + "' is a tuple of " + std::to_string(elements.size()) + ", and " +
           std::to_string(list->items.size()) + " values are given");
    }
    for (std::size_t i = 0; i < items.size(); ++i) items[i] = &list->items[i];
  } else {
    for (const auto& [key, item] : value.get_if<Argument::Dict>()->items) {
      const auto field = std::find(fields.begin(), fields.end(), *key.get_if<std::string>());
      if (field == fields.end()) fail("'" + expr + "' has no field '" + *key.get_if<std::string>() + "'");
      items[static_cast<std::size_t>(field - fields.begin())] = &item;
    }
  }
  std::vector<at::IValue> values;
  Argument::Tuple arguments;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string part = i < fields.size() ? fields[i] : std::to_string(i);
    if (items[i] == nullptr) fail("'" + expr + "' lacks the field '" + part + "'");
    const std::string place = i < fields.size() ? expr + "." + part : expr + "[" + part + "]";
    auto [item, argument] = bind_value(*items[i], elements[i], name + "_" + part, place);
    values.push_back(std::move(item));
    arguments.items.push_back(std::move(*argument));
  }
  at::IValue result = tuple.schema()
                          ? c10::ivalue::Tuple::createNamed(std::move(values), type->cast<c10::TupleType>())
                          : c10::ivalue::Tuple::create(std::move(values));
  return {std::move(result), std::move(arguments)};
}

}  // namespace fxtrace
