#include "torchscript/convert.h"

#include <ATen/ATen.h>
#include <ATen/core/class_type.h>
#include <c10/core/ScalarType.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace fxtrace {

std::string first_line(std::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

namespace {

// LibTorch names types with addresses: "'__torch__.Net (of Python compilation unit at: 0x7f01c8)'".
std::string without_addresses(std::string_view text) {
  constexpr std::string_view kStart = " (of Python compilation unit at: 0x";
  std::string result;
  for (auto at = text.find(kStart); at != std::string_view::npos; at = text.find(kStart)) {
    const auto end = text.find(')', at);
    if (end == std::string_view::npos) break;
    result += text.substr(0, at);
    text.remove_prefix(end + 1);
  }
  return result.append(text);
}

}  // namespace

std::string readable_message(std::string_view message) {
  const std::string without = without_addresses(message);
  std::string_view text = without;
  const auto trace = text.find("\nException raised from");
  if (trace != std::string_view::npos) text = text.substr(0, trace);
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

std::string dtype_name(at::ScalarType type) { return std::string(c10::getDtypeNames(type).first); }

std::string path_part(const std::string& name) {
  std::string part;
  for (const char c : name) part += c == '.' ? std::string("\\.") : std::string(1, c);
  return part;
}

const c10::Type* without_optional(const c10::Type* type) {
  while (type != nullptr && type->kind() == c10::TypeKind::OptionalType) {
    type = type->castRaw<c10::OptionalType>()->getElementType().get();
  }
  return type;
}

std::optional<std::string> find_dtype_name(std::int64_t number) {
  if (number < 0 || number >= static_cast<std::int64_t>(at::ScalarType::NumOptions)) return std::nullopt;
  const auto type = static_cast<at::ScalarType>(number);
  if (type == at::ScalarType::Undefined) return std::nullopt;
  return dtype_name(type);
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
  constexpr std::string_view kMangle = "___torch_mangle_";
  if (name.substr(0, kRoot.size()) == kRoot) name.remove_prefix(kRoot.size());
  std::string result;
  while (!name.empty()) {
    const auto dot = name.find('.');
    const std::string_view part = name.substr(0, dot);
    if (part.substr(0, kMangle.size()) != kMangle) {
      if (!result.empty()) result += '.';
      result += part;
    }
    if (dot == std::string_view::npos) break;
    name.remove_prefix(dot + 1);
  }
  return result;
}

std::string type_name(const c10::Type& type) {
  const auto join = [](c10::ArrayRef<c10::TypePtr> types) {
    std::string text;
    for (const auto& inner : types) {
      if (!text.empty()) text += ", ";
      text += type_name(*inner);
    }
    return text;
  };
  switch (type.kind()) {
    case c10::TypeKind::TensorType:
      return "Tensor";
    case c10::TypeKind::ListType:
      return "List[" + join(type.containedTypes()) + "]";
    case c10::TypeKind::OptionalType:
      return "Optional[" + type_name(*type.castRaw<c10::OptionalType>()->getElementType()) + "]";
    case c10::TypeKind::DictType:
      return "Dict[" + join(type.containedTypes()) + "]";
    case c10::TypeKind::FutureType:
      return "Future[" + join(type.containedTypes()) + "]";
    case c10::TypeKind::TupleType: {
      const auto& tuple = *type.castRaw<c10::TupleType>();
      if (tuple.name()) return demangle(tuple.name()->qualifiedName());
      return "Tuple[" + (tuple.containedTypes().empty() ? "()" : join(tuple.containedTypes())) + "]";
    }
    case c10::TypeKind::ClassType:
    case c10::TypeKind::InterfaceType:
    case c10::TypeKind::EnumType: {
      const auto* named = type.castRaw<c10::NamedType>();
      return named != nullptr && named->name() ? demangle(named->name()->qualifiedName())
                                               : type.annotation_str();
    }
    default:
      return type.annotation_str();
  }
}

bool may_hold_tensor(const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::TensorType:
    case c10::TypeKind::AnyType:
    case c10::TypeKind::VarType:
    case c10::TypeKind::ClassType:
    case c10::TypeKind::InterfaceType:
    case c10::TypeKind::FutureType:
    case c10::TypeKind::AnyListType:
    case c10::TypeKind::AnyTupleType:
      return true;
    default:
      break;
  }
  for (const auto& inner : type.containedTypes()) {
    if (may_hold_tensor(*inner)) return true;
  }
  return false;
}

namespace {

SchemaType schema_type(const c10::Type& type) {
  SchemaType result;
  switch (type.kind()) {
    case c10::TypeKind::OptionalType:
      result.name = "Optional";
      break;
    case c10::TypeKind::ListType:
      result.name = "List";
      break;
    case c10::TypeKind::DictType:
      result.name = "Dict";
      break;
    case c10::TypeKind::TupleType:
      result.name = "Tuple";
      break;
    default:
      result.name = type.str();
      return result;
  }
  for (const auto& part : type.containedTypes()) result.parts.push_back(schema_type(*part));
  return result;
}

SchemaType schema_type(const c10::Argument& formal) {
  SchemaType result = schema_type(*formal.type());
  const c10::AliasInfo* alias = formal.alias_info();
  if (alias == nullptr) return result;
  const auto names = [](const auto& sets) {
    std::vector<std::string> texts;
    for (const c10::Symbol& set : sets) texts.emplace_back(set.toUnqualString());
    std::ranges::sort(texts);
    return texts;
  };
  result.alias = AliasSet{names(alias->beforeSets()), names(alias->afterSets()), alias->isWrite()};
  return result;
}

}  // namespace

const Operator* find_operator(const c10::FunctionSchema& schema) {
  return find_operator(schema.name(), schema.overload_name());
}

Schema converted_schema(const c10::FunctionSchema& schema) {
  Schema result;
  result.is_variadic = schema.is_vararg();
  result.has_variadic_results = schema.is_varret();
  for (const c10::Argument& formal : schema.arguments()) {
    result.arguments.push_back({formal.name(), schema_type(formal), std::nullopt, formal.kwarg_only()});
  }
  for (const c10::Argument& formal : schema.returns()) result.results.push_back(schema_type(formal));
  return result;
}

Schema own_schema(const c10::FunctionSchema& schema) {
  const Operator* op = find_operator(schema);
  return op != nullptr ? op->schema() : converted_schema(schema);
}

std::optional<std::vector<Argument>> elements(const at::Tensor& tensor) {
  const at::Tensor dense = tensor.detach().contiguous().resolve_conj().resolve_neg().flatten();
  std::vector<Argument> result;
  result.reserve(static_cast<std::size_t>(dense.numel()));
  if (dense.scalar_type() == at::kBool) {
    for (std::int64_t i = 0; i < dense.numel(); ++i) result.emplace_back(dense[i].item<bool>());
  } else if (c10::isIntegralType(dense.scalar_type(), false)) {
    const at::Tensor wide = dense.to(at::kLong);
    const auto* data = wide.const_data_ptr<std::int64_t>();
    for (std::int64_t i = 0; i < wide.numel(); ++i) result.emplace_back(data[i]);
  } else if (c10::isComplexType(dense.scalar_type())) {
    const at::Tensor wide = dense.to(at::kComplexDouble);
    const auto* data = wide.const_data_ptr<c10::complex<double>>();
    for (std::int64_t i = 0; i < wide.numel(); ++i) {
      result.emplace_back(std::complex<double>(data[i].real(), data[i].imag()));
    }
  } else if (c10::isFloatingType(dense.scalar_type())) {
    const at::Tensor wide = dense.to(at::kDouble);
    const auto* data = wide.const_data_ptr<double>();
    for (std::int64_t i = 0; i < wide.numel(); ++i) result.emplace_back(data[i]);
  } else {
    return std::nullopt;
  }
  return result;
}

}  // namespace fxtrace
