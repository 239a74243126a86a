#include "torchscript/language/function_schema.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "opinfo/operator_entry.h"
#include "support/error.h"

namespace fxtrace::internal::torchscript {

std::string to_text(const FunctionSchema& schema) {
  std::string text = schema.name;
  if (!schema.overload_name.empty()) text += "." + schema.overload_name;
  text += '(';
  const auto separate = [&] {
    if (text.back() != '(') text += ", ";
  };
  bool keyword_only = false;
  for (const FunctionArgument& argument : schema.arguments) {
    separate();
    if (argument.keyword_only && !keyword_only) {
      text += "*, ";
      keyword_only = true;
    }
    std::string type = argument.type->str();
    if (argument.length) {
      const auto bracket = type.rfind("[]");
      if (bracket != std::string::npos) type.insert(bracket + 1, std::to_string(*argument.length));
    }
    text += type + " " + argument.name;
    if (argument.default_value) text += "=" + to_text(*argument.default_value);
  }
  if (schema.is_variadic) {
    separate();
    text += "...";
  }
  text += ") -> (";
  for (const TypePtr& result : schema.results) {
    separate();
    text += result->str();
  }
  if (schema.has_variadic_results) {
    separate();
    text += "...";
  }
  return text + ")";
}

namespace {

// Returns the type for a name in schemas.  Types that TorchScript does not have are int (ScalarType) or str
// (Dimname) there.
TypePtr simple_schema_type(std::string_view name) {
  struct Row {
    std::string_view name;
    TypeKind kind;
  };
  static constexpr std::array kRows{
      Row{"AnyListType", TypeKind::kAnyList}, Row{"AnyTupleType", TypeKind::kAnyTuple},
      Row{"DeviceIndex", TypeKind::kInt},     Row{"Dimname", TypeKind::kString},
      Row{"Layout", TypeKind::kInt},          Row{"MemoryFormat", TypeKind::kInt},
      Row{"None", TypeKind::kNone},           Row{"Scalar", TypeKind::kNumber},
      Row{"ScalarType", TypeKind::kInt},      Row{"SymBool", TypeKind::kBool},
      Row{"SymFloat", TypeKind::kFloat},      Row{"SymInt", TypeKind::kInt},
      Row{"tensor", TypeKind::kTensor},
  };
  for (const Row& row : kRows) {
    if (row.name == name) return simple_type(row.kind);
  }
  // These names are valid in annotations only.
  return name == "list" || name == "tuple" || name == "PyObject" ? nullptr : find_simple_type(name);
}

// Returns a default value as a constant of the type; `length` is that of a list for which one number may
// stand.
ScriptConstant constant_of(const AbstractValue& value, const Type& type, const SchemaArgument& argument,
                           std::optional<std::int64_t> length) {
  const auto fail = [&] {
    throw input_error("argument '" + argument.name + "' of a schema has the default value '" +
                      argument.default_value->substr(0, 100) + "', which does not fit its type");
  };
  if (value.is_none()) return ScriptConstant();
  if (const auto* optional = type.as<OptionalType>())
    return constant_of(value, *optional->element(), argument, length);
  const auto* items = value.sequence();
  if (const auto* list = type.as<ListType>()) {
    constexpr std::int64_t kMaxLength = 64;
    const TypePtr simple = simple_type(list->element()->kind());
    ScriptConstant::List result{simple != nullptr ? simple : any_type(), {}};
    const auto item = [&](const AbstractValue& each) {
      return constant_of(each, *list->element(), argument, std::nullopt);
    };
    if (items != nullptr)
      std::ranges::transform(*items, std::back_inserter(result.items), item);
    else if (length && *length > 0 && *length <= kMaxLength)
      result.items.assign(static_cast<std::size_t>(*length), item(value));
    else
      fail();
    return ScriptConstant(std::move(result));
  }
  if (items != nullptr && items->size() == type.contained_types().size()) {
    ScriptConstant::Tuple tuple;
    for (std::size_t i = 0; i < items->size(); ++i)
      tuple.items.push_back(constant_of((*items)[i], *type.contained_types()[i], argument, std::nullopt));
    return ScriptConstant(std::move(tuple));
  }
  if (const auto* flag = value.get_if<bool>()) return ScriptConstant(*flag);
  if (const auto* real = value.get_if<double>()) return ScriptConstant(*real);
  if (const auto* text = value.get_if<std::string>())
    return type.kind() == TypeKind::kDevice ? ScriptConstant(ScriptConstant::Device{*text})
                                            : ScriptConstant(*text);
  const auto whole = value.integer() != nullptr ? value.integer()->number() : std::nullopt;
  if (!whole) fail();
  return type.kind() == TypeKind::kFloat ? ScriptConstant(static_cast<double>(*whole))
                                         : ScriptConstant(*whole);
}

}  // namespace

TypePtr schema_type(const SchemaType& type, const ResolveClass& resolve) {
  if (!type.parts.empty() || type.name == "Tuple") {
    std::vector<TypePtr> parts;
    for (const SchemaType& part : type.parts) parts.push_back(schema_type(part, resolve));
    const auto takes = [&](std::size_t count) {
      if (parts.size() != count)
        throw input_error("the type '" + type.name + "' of a schema has " + std::to_string(parts.size()) +
                          " parts");
    };
    if (type.name == "Tuple") return tuple_type(std::move(parts));
    if (type.name == "Dict") {
      takes(2);
      return dict_type(parts[0], parts[1]);
    }
    takes(1);
    if (type.name == "List") return list_type(parts[0]);
    if (type.name == "Optional") return optional_type(parts[0]);
    if (type.name == "Future") return future_type(parts[0]);
    if (type.name == "Await") return await_type(parts[0]);
    if (type.name == "RRef") return rref_type(parts[0]);
  }
  if (TypePtr simple = simple_schema_type(type.name)) return simple;
  if (type.name.starts_with("__torch__.")) {
    if (TypePtr found = resolve ? resolve(type.name) : nullptr) return found;
  } else if (type.is_variable()) {
    return var_type(type.name);
  }
  throw input_error("unknown type specifier '" + type.name + "' in a schema");
}

FunctionSchema function_schema(std::string_view name, const Schema& schema, const ResolveClass& resolve) {
  FunctionSchema result;
  const auto dot = name.find("::") == std::string_view::npos ? std::string_view::npos : name.find('.');
  result.name = name.substr(0, dot);
  if (dot != std::string_view::npos) result.overload_name = name.substr(dot + 1);
  result.is_variadic = schema.is_variadic;
  result.has_variadic_results = schema.has_variadic_results;
  for (const SchemaArgument& argument : schema.arguments) {
    FunctionArgument& mine =
        result.arguments.emplace_back(argument.name, schema_type(argument.type, resolve), argument.length,
                                      std::nullopt, argument.keyword_only, argument.is_written);
    if (argument.default_value)
      mine.default_value =
          constant_of(default_value(*argument.default_value), *mine.type, argument, argument.length);
  }
  for (const SchemaType& type : schema.results) result.results.push_back(schema_type(type, resolve));
  return result;
}

FunctionSchema parse_function_schema(std::string_view text, const ResolveClass& resolve) {
  const auto parenthesis = std::min(text.find('('), text.size());
  std::string_view name = text.substr(0, parenthesis);
  while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
  return function_schema(name, parse_schema(text, parenthesis), resolve);
}

}  // namespace fxtrace::internal::torchscript
