#include "interpreter/program/convert.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <complex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "opinfo/operator_entry.h"
#include "shapes/tensor_options.h"
#include "support/text/words.h"
#include "torchscript/operators/plain_call.h"
#include "torchscript/values/tensor_value.h"

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

namespace {

std::string tensor_text(const TensorValue& tensor, const std::vector<Argument>& elements) {
  std::string text;
  for (const Argument& element : elements) {
    if (!text.empty()) text += ", ";
    if (const auto* flag = element.get_if<bool>()) {
      text += *flag ? "True" : "False";
    } else if (const auto* integer = element.get_if<std::int64_t>()) {
      text += std::to_string(*integer);
    } else if (const auto* number = element.get_if<double>()) {
      text += python_float(*number);
    } else {
      const auto& parts = *element.get_if<std::complex<double>>();
      text += "complex(" + python_float(parts.real()) + ", " + python_float(parts.imag()) + ")";
    }
  }
  text = "torch.tensor([" + text + "], dtype=torch." + dtype_name(tensor.dtype) + ")";
  if (tensor.dim() == 1) return text;
  const auto size_text = [](std::int64_t size) { return std::to_string(size); };
  return text + ".reshape([" + joined(tensor.sizes, size_text) + "])";
}

}  // namespace

std::string python_text(const Value& value, const TorchScriptArchive* archive) {
  if (value.is_none()) return "None";
  if (value.is_bool()) return value.to_bool() ? "True" : "False";
  if (value.is_double()) return python_float(value.to_double());
  if (value.is_string()) return python_text_literal(value.to_string());
  if (value.is_enum()) return python_text(value.to_enum().value);  // as in arguments of nodes
  if (value.is_device()) return "torch.device(" + python_text_literal(value.to_device().text()) + ")";
  const auto text_of = [](const Value& item) { return python_text(item); };
  if (value.is_list()) return "[" + joined(value.items(), text_of) + "]";
  if (value.is_tuple())
    return "(" + joined(value.items(), text_of) + (value.items().size() == 1 ? ",)" : ")");
  if (value.is_dict()) {
    const auto entry_text = [&](const auto& entry) {
      return text_of(entry.key) + ": " + text_of(entry.value);
    };
    return "{" + joined(value.to_dict().entries(), entry_text) + "}";
  }
  if (value.is_tensor() && archive != nullptr) {
    constexpr std::int64_t kMost = 1 << 16;
    if (const auto known = archive->elements(value.to_tensor(), kMost))
      return tensor_text(value.to_tensor(), *known);
  }
  try {
    return torchscript::printed(value);
  } catch (const torchscript::Raised&) {
    return type_name(*torchscript::dynamic_type(value));
  }
}

Expression literal(const Value& value, const TorchScriptArchive* archive) {
  return Expression::parse(python_text(value, archive));
}

Expression has_length(const Expression& place, std::size_t length) {
  return Expression::comparison("==", Expression::call(Expression::name("len"), {place}),
                                static_cast<std::int64_t>(length));
}

namespace {

bool holds_nan(const Value& value) {
  if (value.is_double()) return std::isnan(value.to_double());
  if (value.is_list()) return std::ranges::any_of(value.items(), holds_nan);
  if (value.is_tuple()) return std::ranges::any_of(value.items(), holds_nan);
  return value.is_dict() && std::ranges::any_of(value.to_dict().entries(),
                                                [](const auto& entry) { return holds_nan(entry.value); });
}

// Returns the condition that the value is equal part by part, for values that hold NaN, which is equal to
// nothing.
Expression equality_of_parts(const Expression& place, const Value& value) {
  if (value.is_double()) return Expression::method(Expression::name("math"), "isnan", {place});
  std::vector<Expression> parts{{}};
  const auto part = [&](Expression key, const Value& item) {
    parts.push_back(equality(Expression::item(place, std::move(key)), item));
  };
  if (value.is_dict()) {
    for (const auto& entry : value.to_dict().entries()) part(literal(entry.key), entry.value);
  } else {
    for (std::size_t i = 0; i < value.items().size(); ++i)
      part(static_cast<std::int64_t>(i), value.items()[i]);
  }
  parts[0] = has_length(place, parts.size() - 1);
  return Expression::all(std::move(parts));
}

}  // namespace

Expression equality(const Expression& place, const Value& value, const TorchScriptArchive* archive) {
  if (value.is_none()) return Expression::comparison("is", place, Expression::none());
  if (holds_nan(value)) return equality_of_parts(place, value);
  if (value.is_tensor())
    return Expression::method(Expression::name("torch"), "equal", {place, literal(value, archive)});
  return Expression::comparison("==", place, literal(value));
}

}  // namespace fxtrace::internal::interpreter
