#include "interpreter/program/convert.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <unordered_map>

#include "opinfo/operator_entry.h"
#include "shapes/scalar_type.h"
#include "support/text/words.h"

namespace fxtrace::internal::interpreter {

std::string readable_message(std::string_view text) {
  std::string line;
  bool space = false;
  for (const char c : text) {
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      space = !line.empty();
      continue;
    }
    if (space) line += ' ';
    space = false;
    line += c;
  }
  constexpr std::size_t kMaxMessage = 600;
  if (line.size() > kMaxMessage) {
    line.resize(kMaxMessage);
    line += "...";
  }
  return line;
}

const Type* without_optional(const Type* type) {
  while (type != nullptr && type->kind() == TypeKind::kOptional) {
    type = type->as<OptionalType>()->element().get();
  }
  return type;
}

std::optional<std::string> find_dtype_name(std::int64_t number) {
  const Dtype type = find_scalar_type(number);
  return type ? std::optional(dtype_name(*type)) : std::nullopt;
}

std::optional<std::string> find_memory_format_name(std::int64_t number) {
  static constexpr std::array<const char*, 4> kNames = {"contiguous_format", "preserve_format",
                                                        "channels_last", "channels_last_3d"};
  const auto index = static_cast<std::size_t>(number);
  return index < kNames.size() ? std::optional<std::string>(kNames[index]) : std::nullopt;
}

std::optional<std::string> find_layout_name(std::int64_t number) {
  const auto index = static_cast<std::size_t>(number);
  // The C++ enumeration: Strided, Sparse, SparseCsr, Mkldnn, SparseCsc, SparseBsr, SparseBsc, Jagged.
  static constexpr std::array<const char*, 8> kByValue = {"strided",    "sparse_coo", "sparse_csr", "_mkldnn",
                                                          "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged"};
  return index < kByValue.size() ? std::optional<std::string>(kByValue[index]) : std::nullopt;
}

std::string demangle(std::string_view name) {
  constexpr std::string_view kRoot = "__torch__.";
  if (name.starts_with(kRoot)) name.remove_prefix(kRoot.size());
  return torchscript::without_mangling(name);
}

std::string type_name(const Type& type) {
  const auto join = [](const std::vector<TypePtr>& types) {
    return joined(types, [](const TypePtr& inner) { return type_name(*inner); });
  };
  switch (type.kind()) {
    case TypeKind::kTensor:
      return "Tensor";
    case TypeKind::kList:
      return "List[" + join(type.contained_types()) + "]";
    case TypeKind::kOptional:
      return "Optional[" + type_name(*type.as<OptionalType>()->element()) + "]";
    case TypeKind::kDict:
      return "Dict[" + join(type.contained_types()) + "]";
    case TypeKind::kFuture:
      return "Future[" + join(type.contained_types()) + "]";
    case TypeKind::kTuple: {
      const auto& tuple = *type.as<TupleType>();
      if (tuple.is_named()) return demangle(tuple.name());
      return "Tuple[" + (tuple.contained_types().empty() ? "()" : join(tuple.contained_types())) + "]";
    }
    case TypeKind::kClass:
    case TypeKind::kInterface:
    case TypeKind::kEnum:
      return demangle(type.name());
    default:
      return type.annotation_str();
  }
}

std::shared_ptr<const argument::TupleNames> tuple_names(const Type* type) {
  const auto* tuple = type != nullptr ? type->as<TupleType>() : nullptr;
  if (tuple == nullptr || !tuple->is_named()) return nullptr;
  return std::make_shared<argument::TupleNames>(demangle(tuple->name()), tuple->fields());
}

bool may_hold_tensor(const Type& type) {
  switch (type.kind()) {
    case TypeKind::kTensor:
    case TypeKind::kAny:
    case TypeKind::kVar:
    case TypeKind::kClass:
    case TypeKind::kInterface:
    case TypeKind::kFuture:
    case TypeKind::kAnyList:
    case TypeKind::kAnyTuple:
      return true;
    default:
      break;
  }
  for (const auto& inner : type.contained_types()) {
    if (may_hold_tensor(*inner)) return true;
  }
  return false;
}

bool makes_tensor(const FunctionSchema& schema) {
  return std::ranges::any_of(schema.results, [](const TypePtr& type) {
    return type->kind() != TypeKind::kVar && may_hold_tensor(*type);
  });
}

namespace {

SchemaType schema_type(const Type& type) {
  SchemaType result;
  switch (type.kind()) {
    case TypeKind::kOptional:
      result.name = "Optional";
      break;
    case TypeKind::kList:
      result.name = "List";
      break;
    case TypeKind::kDict:
      result.name = "Dict";
      break;
    case TypeKind::kTuple:
      result.name = "Tuple";
      break;
    default:
      result.name = type.str();
      return result;
  }
  for (const auto& part : type.contained_types()) result.parts.push_back(schema_type(*part));
  return result;
}

SchemaType schema_type(const FunctionArgument& formal) {
  SchemaType result = schema_type(*formal.type);
  if (formal.is_written) result.alias = AliasSet{{"a"}, {"a"}, true};
  return result;
}

}  // namespace

const Operator* find_operator(const FunctionSchema& schema) {
  return internal::find_operator(schema.name, schema.overload_name);
}

Schema converted_schema(const FunctionSchema& schema) {
  Schema result;
  result.is_variadic = schema.is_variadic;
  result.has_variadic_results = schema.has_variadic_results;
  for (const FunctionArgument& formal : schema.arguments) {
    result.arguments.push_back({formal.name, schema_type(formal), formal.length, std::nullopt,
                                formal.keyword_only, formal.is_written});
  }
  for (const TypePtr& type : schema.results) result.results.push_back(schema_type(*type));
  return result;
}

const Schema* find_row_schema(const FunctionSchema& schema) {
  const Operator* row = find_operator(schema);
  return row == nullptr ? nullptr : &entry_of(*row).schema;
}

Schema own_schema(const FunctionSchema& schema) {
  const Schema* own = find_row_schema(schema);
  return own != nullptr ? *own : converted_schema(schema);
}

Argument number_argument(const Value& value) {
  if (value.is_bool()) return value.to_bool();
  if (value.is_int()) return value.to_int();
  if (value.is_complex()) return value.to_complex();
  return value.to_double();
}

std::optional<Argument> plain_attribute(const Value& value) {
  if (value.is_bool()) return Argument(value.to_bool());
  if (value.is_int()) return Argument(value.to_int());
  if (value.is_double()) return Argument(value.to_double());
  if (value.is_string()) return Argument(value.to_string());
  if (value.is_none()) return Argument(Argument::None{});
  const auto list = [](const auto& items) -> std::optional<Argument> {
    Argument::List result;
    for (const auto& item : items) {
      auto element = plain_attribute(item);
      if (!element) return std::nullopt;
      result.items.push_back(std::move(*element));
    }
    return Argument(std::move(result));
  };
  constexpr std::size_t kMaxElements = 64;  // a rule that compares longer lists is a mistake
  constexpr std::size_t kMaxValues = 4096;
  if (extent_of(value).size > kMaxValues) return std::nullopt;
  if (value.is_list() && value.items().size() <= kMaxElements) return list(value.items());
  if (value.is_tuple() && value.items().size() <= kMaxElements) return list(value.items());
  return std::nullopt;
}

}  // namespace fxtrace::internal::interpreter
