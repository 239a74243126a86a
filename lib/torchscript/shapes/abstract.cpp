#include "torchscript/shapes/abstract.h"

#include <ATen/core/class_type.h>

#include <utility>

#include "torchscript/value.h"

namespace fxtrace {
namespace {

static_assert(kScalarTypes == static_cast<std::int64_t>(at::ScalarType::Undefined));
static_assert(static_cast<std::int64_t>(at::kStrided) == kStridedLayout);
static_assert(static_cast<std::int64_t>(at::kSparse) == kSparseLayout);
static_assert(static_cast<std::int64_t>(at::MemoryFormat::Contiguous) == kContiguousFormat);

std::optional<TensorInfo> tensor_info(const at::Tensor& tensor) {
  if (!tensor.defined()) return std::nullopt;
  TensorInfo info;
  if (tensor.layout() == at::kSparse) {
    info.sparse_dim = tensor.sparse_dim();
  } else if (tensor.layout() != at::kStrided) {
    return std::nullopt;
  }
  info.sizes.assign(tensor.sizes().begin(), tensor.sizes().end());
  info.dtype = own_type(tensor.scalar_type());
  if (!tensor.device().is_cpu()) info.device = own_device(tensor.device());
  info.requires_grad = tensor.requires_grad();
  if (!info.sparse_dim) info.contiguous = tensor.is_contiguous();
  return info;
}

constexpr int kMaxNesting = 16;  // objects may hold themselves
constexpr std::size_t kMaxValues = std::size_t{1} << 16;

// Whoever holds too many others: nothing is known of it.
struct TooMany {};

// With literals the value is an argument of a call.  Without, it is what the interpreter remembers of values
// that depend on inputs: sizes, tensors and what they are in.
AbstractValue converted(const at::IValue& value, bool with_literals, int depth, std::size_t& room) {
  if (room-- == 0) throw TooMany{};
  if (value.isCapsule()) return known_of(value);
  if (value.isNone()) return {NoneValue{}};
  if (value.isInt()) return {SymInt(value.toInt())};
  if (value.isDevice()) return {own_device(value.toDevice())};
  if (value.isTensor()) {
    auto info = tensor_info(value.toTensor());
    return info ? AbstractValue{std::move(*info)} : AbstractValue{};
  }
  if (depth >= kMaxNesting) return {};
  const auto sequence = [&](const auto& items) {
    AbstractValue::Sequence result;
    result.reserve(items.size());
    for (const at::IValue& item : items) result.push_back(converted(item, with_literals, depth + 1, room));
    return AbstractValue{std::move(result)};
  };
  if (value.isTuple()) return sequence(value.toTupleRef().elements());
  if (value.isList()) return sequence(value.toListRef());
  if (value.isGenericDict()) {
    AbstractValue::Dict dict;
    for (const auto& entry : value.toGenericDict()) {
      dict.keys.push_back(literal_value(entry.key()));
      if (dict.keys.back().is_unknown()) return {};  // a tensor
      dict.values.push_back(converted(entry.value(), with_literals, depth + 1, room));
    }
    return {std::move(dict)};
  }
  if (value.isObject() && !value.toObjectRef().type()->is_module()) {
    return sequence(value.toObjectRef().slots());
  }
  return with_literals ? literal_value(value) : AbstractValue{};
}

AbstractValue converted(const at::IValue& value, bool with_literals) {
  std::size_t room = kMaxValues;
  try {
    return converted(value, with_literals, 0, room);
  } catch (const TooMany&) {
    return {};
  }
}

ValueType::Kind kind_of(c10::TypeKind kind) {
  using Kind = ValueType::Kind;
  switch (kind) {
    case c10::TypeKind::TensorType:
      return Kind::kTensor;
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
      return Kind::kInt;
    case c10::TypeKind::FloatType:
      return Kind::kFloat;
    case c10::TypeKind::BoolType:
      return Kind::kBool;
    case c10::TypeKind::ComplexType:
      return Kind::kComplex;
    default:
      return Kind::kAny;
  }
}

ValueType value_type(const c10::Type& type) {
  const auto* list = type.castRaw<c10::ListType>();
  if (list == nullptr) return {kind_of(type.kind())};
  ValueType result = value_type(*list->getElementType());
  ++result.lists;
  return result;
}

}  // namespace

Device own_device(at::Device device) {
  return {c10::DeviceTypeName(device.type(), /*lower_case=*/true), device.index()};
}

std::shared_ptr<const void> content_of(at::Tensor tensor) {
  return std::make_shared<const at::Tensor>(std::move(tensor));
}

at::Tensor tensor_of(const TensorContent& content) {
  return content.constant ? *static_cast<const at::Tensor*>(content.constant.get()) : at::Tensor();
}

AbstractValue known_of_value(const at::IValue& value) { return converted(value, false); }

std::optional<TensorInfo> find_tensor_info(const at::IValue& value) {
  if (const TensorInfo* info = known_of(value).tensor()) return *info;
  return value.isTensor() ? tensor_info(value.toTensor()) : std::nullopt;
}

AbstractValue literal_value(const at::IValue& value) {
  if (value.isInt()) return {SymInt(value.toInt())};
  if (value.isBool()) return {value.toBool()};
  if (value.isDouble()) return {value.toDouble()};
  if (value.isString()) return {value.toStringRef()};
  if (value.isComplexDouble()) {
    const c10::complex<double> number = value.toComplexDouble();
    return {std::complex<double>(number.real(), number.imag())};
  }
  return {};
}

at::IValue plain_value(const AbstractValue& value) {
  if (const SymInt* integer = value.integer()) return integer->number().value();
  if (const auto* flag = value.get_if<bool>()) return *flag;
  if (const auto* number = value.get_if<double>()) return *number;
  if (const auto* text = value.get_if<std::string>()) return *text;
  if (const auto* number = value.get_if<std::complex<double>>())
    return c10::complex<double>(number->real(), number->imag());
  return {};
}

ValueType InterpreterArguments::type(std::size_t i) const {
  using Kind = ValueType::Kind;
  const at::IValue& argument = values_[i];
  if (const Proxy* proxy = find_proxy(argument)) return value_type(*proxy->type);
  if (argument.isNone()) return {Kind::kNone};
  if (argument.isTensor()) return {Kind::kTensor};
  if (argument.isInt()) return {Kind::kInt};
  if (argument.isDouble()) return {Kind::kFloat};
  if (argument.isBool()) return {Kind::kBool};
  if (argument.isComplexDouble()) return {Kind::kComplex};
  if (!argument.isList()) return {};
  ValueType type = value_type(*argument.toList().elementType());
  ++type.lists;
  return type;
}

bool InterpreterArguments::is_literal(std::size_t i) const { return is_plain(values_[i]); }

const AbstractValue& InterpreterArguments::value(std::size_t i) const {
  const at::IValue& argument = values_[i];
  if (argument.isCapsule()) return known_of(argument);
  if (converted_.empty()) converted_.resize(values_.size());
  std::optional<AbstractValue>& place = converted_[i];
  if (place) return *place;
  place = converted(argument, true);
  auto* info = std::get_if<TensorInfo>(&place->value);
  if (info != nullptr && read_constant_) {
    if (auto element = read_constant_(argument.toTensor())) {
      info->content = std::make_shared<TensorContent>(
          TensorContent{std::move(element), nullptr, std::make_shared<const bool>(true)});
    }
  }
  return *place;
}

}  // namespace fxtrace
