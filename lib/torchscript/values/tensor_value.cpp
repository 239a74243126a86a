#include "torchscript/values/tensor_value.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <string_view>

#include "archive/model_file.h"
#include "shapes/abstract_value.h"
#include "support/text/words.h"

namespace fxtrace::internal::torchscript {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

Element element_at(ScalarType dtype, const char* bytes) {
  constexpr unsigned kByte = 8, kBits = 64;
  const auto size = static_cast<std::size_t>(item_size(dtype));
  const std::uint64_t bits = little_endian({bytes, size}, 0, static_cast<int>(size));
  if (dtype == ScalarType::kFloat32) return double{std::bit_cast<float>(static_cast<std::uint32_t>(bits))};
  if (dtype == ScalarType::kFloat64) return std::bit_cast<double>(bits);
  if (dtype == ScalarType::kBool) return std::int64_t{bits != 0};
  const unsigned unused = kBits - kByte * static_cast<unsigned>(size);
  const auto shifted = static_cast<std::int64_t>(bits << unused);
  return dtype == ScalarType::kUint8 ? static_cast<std::int64_t>(bits) : shifted >> unused;
}

// Returns the position in the storage, in elements, of the element with a row-major index.
std::int64_t position_of(const TensorValue& tensor, std::int64_t place) {
  std::int64_t position = tensor.offset;
  for (std::size_t i = tensor.sizes.size(); i > 0; --i) {
    position += place % tensor.sizes[i - 1] * tensor.strides[i - 1];
    place /= tensor.sizes[i - 1];
  }
  return position;
}

// Returns the position in the storage of the last element; nothing when it exceeds 63 bits.
std::optional<std::int64_t> last_position(const TensorValue& tensor) {
  std::int64_t position = tensor.offset;
  for (std::size_t i = 0; i < tensor.sizes.size(); ++i) {
    std::int64_t way = 0;
    if (tensor.strides[i] < 0 || __builtin_mul_overflow(tensor.sizes[i] - 1, tensor.strides[i], &way) ||
        __builtin_add_overflow(position, way, &position))
      return std::nullopt;
  }
  return position;
}

}  // namespace

std::optional<std::int64_t> element_count(const std::vector<std::int64_t>& sizes) {
  if (std::ranges::find(sizes, 0) != sizes.end()) return 0;
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) {
    if (size < 0 || __builtin_mul_overflow(count, size, &count)) return std::nullopt;
  }
  return count;
}

std::int64_t TensorValue::numel() const { return element_count(sizes).value_or(kMost); }

bool TensorValue::is_contiguous() const {
  return layout == TensorLayout::kStrided && internal::is_contiguous(sizes, strides);
}

TensorRef with_elements(const TensorValue& tensor, std::string_view bytes) {
  const std::int64_t count = tensor.numel();
  const bool is_plain = tensor.layout == TensorLayout::kStrided && !is_quantized(tensor.dtype) &&
                        !tensor.is_conjugated && !tensor.is_negated;
  if (!is_plain || !is_known_type(tensor.dtype) || count > kMaxKnownElements || tensor.offset < 0)
    return nullptr;
  const std::int64_t size = item_size(tensor.dtype);
  if (count > 0) {
    const auto last = last_position(tensor);
    if (!last || *last >= static_cast<std::int64_t>(bytes.size()) / size) return nullptr;
  }
  auto result = make_counted<TensorValue>();
  result->dtype = tensor.dtype;
  result->requires_grad = tensor.requires_grad;
  result->sizes = tensor.sizes;
  result->strides = count > 0 ? tensor.strides : contiguous_strides(tensor.sizes);
  Array array{tensor.dtype, tensor.sizes, {}};
  for (std::int64_t place = 0; place < count; ++place)
    array.elements.push_back(element_at(tensor.dtype, bytes.data() + position_of(tensor, place) * size));
  result->elements = std::make_shared<const Array>(std::move(array));
  return result;
}

namespace {

// The form of a small float: a sign bit, the exponent, the mantissa.
struct Form {
  unsigned exponent_bits, mantissa_bits;
  int bias;
  // kIeee: the largest exponent means an infinity or NaN.  The others have no infinities, and NaN is all bits
  // set but the sign (kFinite), or the bits of -0 (kUnsigned).
  enum class Special : std::uint8_t { kIeee, kFinite, kUnsigned } special;
};

double decoded(std::uint64_t bits, const Form& form) {
  const std::uint64_t mantissa = bits & ((std::uint64_t{1} << form.mantissa_bits) - 1);
  const std::uint64_t most = (std::uint64_t{1} << form.exponent_bits) - 1;
  const std::uint64_t exponent = (bits >> form.mantissa_bits) & most;
  const bool negative = (bits >> (form.mantissa_bits + form.exponent_bits) & 1U) != 0;
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (form.special == Form::Special::kUnsigned && negative && exponent == 0 && mantissa == 0) return kNan;
  if (form.special == Form::Special::kFinite && exponent == most &&
      mantissa == (std::uint64_t{1} << form.mantissa_bits) - 1)
    return kNan;
  double number = 0;
  if (form.special == Form::Special::kIeee && exponent == most) {
    number = mantissa == 0 ? std::numeric_limits<double>::infinity() : kNan;
  } else {
    const auto whole =
        static_cast<double>(exponent == 0 ? mantissa : mantissa | (std::uint64_t{1} << form.mantissa_bits));
    const int power =
        static_cast<int>(exponent == 0 ? 1 : exponent) - form.bias - static_cast<int>(form.mantissa_bits);
    number = std::ldexp(whole, power);
  }
  return negative ? -number : number;
}

std::uint64_t bits_of(const char* bytes, std::size_t size) {
  return little_endian({bytes, size}, 0, static_cast<int>(size));
}

std::optional<double> find_real(ScalarType type, std::uint64_t bits) {
  using Special = Form::Special;
  switch (type) {
    case ScalarType::kFloat64:
      return std::bit_cast<double>(bits);
    case ScalarType::kFloat32:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    case ScalarType::kFloat16:
      return decoded(bits, {5, 10, 15, Special::kIeee});
    case ScalarType::kBfloat16:
      return decoded(bits, {8, 7, 127, Special::kIeee});
    case ScalarType::kFloat8E5m2:
      return decoded(bits, {5, 2, 15, Special::kIeee});
    case ScalarType::kFloat8E4m3fn:
      return decoded(bits, {4, 3, 7, Special::kFinite});
    case ScalarType::kFloat8E5m2fnuz:
      return decoded(bits, {5, 2, 16, Special::kUnsigned});
    case ScalarType::kFloat8E4m3fnuz:
      return decoded(bits, {4, 3, 8, Special::kUnsigned});
    case ScalarType::kFloat8E8m0fnu: {
      constexpr std::uint64_t kNan = 255;
      constexpr int kBias = 127;
      if (bits == kNan) return std::numeric_limits<double>::quiet_NaN();
      return std::ldexp(1.0, static_cast<int>(bits) - kBias);
    }
    default:
      return std::nullopt;
  }
}

// Returns one element; applies the tensor's flags for conjugate and negated values.
std::optional<Value> find_value(const TensorValue& tensor, const char* bytes) {
  const ScalarType type = tensor.dtype;
  const auto size = static_cast<std::size_t>(item_size(type));
  if (is_complex(type)) {
    const ScalarType part = real_type(type);
    const auto real = find_real(part, bits_of(bytes, size / 2));
    auto imaginary = find_real(part, bits_of(bytes + size / 2, size / 2));
    if (!real || !imaginary) return std::nullopt;
    if (tensor.is_conjugated) imaginary = -*imaginary;
    const std::complex<double> number(*real, *imaginary);
    return Value(tensor.is_negated ? -number : number);
  }
  const std::uint64_t bits = bits_of(bytes, size);
  if (type == ScalarType::kBool) return Value(bits != 0);
  if (is_integral(type)) {
    const auto unused = static_cast<unsigned>(64 - 8 * size);
    const auto number = is_signed(type).value_or(false) ? static_cast<std::int64_t>(bits << unused) >> unused
                                                        : static_cast<std::int64_t>(bits);
    return Value(number);
  }
  const auto real = find_real(type, bits);
  if (!real) return std::nullopt;
  return Value(tensor.is_negated ? -*real : *real);
}

}  // namespace

std::optional<std::vector<Value>> find_elements(const TensorValue& tensor, std::string_view bytes,
                                                std::int64_t most) {
  const std::int64_t count = tensor.numel();
  if (tensor.layout != TensorLayout::kStrided || is_quantized(tensor.dtype) || count > most ||
      tensor.offset < 0 || tensor.strides.size() != tensor.sizes.size())
    return std::nullopt;
  const std::int64_t size = item_size(tensor.dtype);
  const std::int64_t there = static_cast<std::int64_t>(bytes.size()) / size;
  std::vector<Value> values;
  for (std::int64_t place = 0; place < count; ++place) {
    std::int64_t position = tensor.offset, rest = place;
    for (std::size_t i = tensor.sizes.size(); i > 0; --i) {
      std::int64_t way = 0;
      if (__builtin_mul_overflow(rest % tensor.sizes[i - 1], tensor.strides[i - 1], &way) ||
          __builtin_add_overflow(position, way, &position))
        return std::nullopt;
      rest /= tensor.sizes[i - 1];
    }
    if (position < 0 || position >= there) return std::nullopt;
    auto value = find_value(tensor, bytes.data() + position * size);
    if (!value) return std::nullopt;
    values.push_back(*std::move(value));
  }
  return values;
}

std::vector<Value> values_of(const Array& array) {
  std::vector<Value> values;
  for (const Element& element : array.elements) {
    const auto* whole = std::get_if<std::int64_t>(&element);
    if (whole == nullptr) {
      values.emplace_back(std::get<double>(element));
    } else {
      values.push_back(array.dtype == ScalarType::kBool ? Value(*whole != 0) : Value(*whole));
    }
  }
  return values;
}

std::optional<Value> find_list(const Array& array, const TypePtr& element) {
  const TypeKind kind = element->kind();
  const bool fits = (kind == TypeKind::kInt && array.dtype == ScalarType::kInt64) ||
                    (kind == TypeKind::kBool && array.dtype == ScalarType::kBool) ||
                    (kind == TypeKind::kFloat && is_floating(array.dtype));
  constexpr std::size_t kMostDims = 16;
  if (!fits || array.sizes.size() > kMostDims) return std::nullopt;
  std::vector<Value> items = values_of(array);
  if (array.sizes.empty()) return items.at(0);
  TypePtr type = element;
  for (std::size_t dim = array.sizes.size(); dim > 0; --dim) {
    // The lists of one dimension are the elements of the one before it.
    const auto size = static_cast<std::size_t>(array.sizes[dim - 1]);
    std::size_t lists = 1;
    for (std::size_t i = 0; i + 1 < dim; ++i) {
      constexpr std::size_t kMostLists = 4096;
      const auto more = static_cast<std::size_t>(array.sizes[i]);
      if (more > kMostLists || lists * more > kMostLists) return std::nullopt;  // many empty lists
      lists *= more;
    }
    std::vector<Value> outer;
    for (std::size_t i = 0; i < lists; ++i) {
      const auto from = items.begin() + static_cast<std::ptrdiff_t>(i * size);
      outer.push_back(make_list(type, std::vector<Value>(from, from + static_cast<std::ptrdiff_t>(size))));
    }
    items = std::move(outer);
    type = list_type(type);
  }
  return items.at(0);
}

namespace {

constexpr std::array<std::string_view, 20> kDevices{
    "cpu",  "cuda", "ipu", "xpu",  "mkldnn", "opengl", "opencl", "ideep", "hip",  "ve",
    "fpga", "maia", "xla", "lazy", "vulkan", "mps",    "meta",   "hpu",   "mtia", "privateuseone"};

DeviceText invalid(std::string_view text) {
  return {std::nullopt, "Invalid device string: '" + std::string(text) + "'"};
}

}  // namespace

DeviceText read_saved_device(std::string_view text) {
  if (text.empty()) return {std::nullopt, "Device string must not be empty"};
  const auto colon = text.find(':');
  const std::string_view type = text.substr(0, colon);
  const bool is_word = !type.empty() && std::ranges::all_of(type, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  });
  if (!is_word) return invalid(text);
  Device device{std::string(type), -1};
  if (colon != std::string_view::npos) {
    constexpr int kMostIndex = 127;
    const std::string_view number = text.substr(colon + 1);
    const bool is_number = !number.empty() && (number.size() == 1 || number[0] != '0') &&
                           std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; });
    if (!is_number) return invalid(text);
    const auto read = std::from_chars(number.data(), number.data() + number.size(), device.index);
    if (read.ec != std::errc{} || device.index > kMostIndex) return invalid(text);
  }
  return {std::move(device), {}};
}

DeviceText read_device(std::string_view text) {
  DeviceText read = read_saved_device(text);
  if (!read.device || std::ranges::find(kDevices, read.device->type) != kDevices.end()) return read;
  return {std::nullopt, "Expected one of " + joined(kDevices) +
                            " device type at start of device string: " + read.device->type};
}

AbstractValue literal_value(const Value& value) {
  if (value.is_int()) return {SymInt(value.to_int())};
  if (value.is_bool()) return {value.to_bool()};
  if (value.is_double()) return {value.to_double()};
  if (value.is_string()) return {value.to_string()};
  if (value.is_complex()) {
    return {value.to_complex()};
  }
  return {};
}

Value plain_value(const AbstractValue& value) {
  if (const SymInt* integer = value.integer(); integer != nullptr && integer->is_number())
    return *integer->number();
  if (const auto* flag = value.get_if<bool>()) return *flag;
  if (const auto* number = value.get_if<double>()) return *number;
  if (const auto* text = value.get_if<std::string>()) return *text;
  if (const auto* number = value.get_if<std::complex<double>>()) return *number;
  return {};
}

std::optional<TensorInfo> tensor_info(const TensorValue& tensor) {
  TensorInfo info;
  if (tensor.layout == TensorLayout::kSparseCoo) {
    if (tensor.parts.empty() || tensor.parts[0]->sizes.empty()) return std::nullopt;
    info.sparse_dim = tensor.parts[0]->sizes[0];
  } else if (tensor.layout != TensorLayout::kStrided) {
    return std::nullopt;
  }
  info.sizes.assign(tensor.sizes.begin(), tensor.sizes.end());
  info.dtype = tensor.dtype;
  // Tensors count as tensors of the CPU, wherever they were saved, except for those without bytes.
  if (tensor.device().type == "meta") info.device = tensor.device();
  info.requires_grad = tensor.requires_grad;
  if (!info.sparse_dim) info.contiguous = tensor.is_contiguous();
  return info;
}

AbstractValue abstract_value(const Value& value) {
  if (value.is_none()) return {NoneValue{}};
  if (value.is_device()) return {value.to_device()};
  if (value.is_list()) {
    AbstractValue::Sequence items;
    for (const Value& item : value.items()) items.push_back(abstract_value(item));
    return {std::move(items)};
  }
  if (!value.is_tensor()) return literal_value(value);
  auto info = tensor_info(value.to_tensor());
  if (!info) return {};
  if (value.to_tensor().elements != nullptr)
    info->content = std::make_shared<const TensorContent>(TensorContent{value.to_tensor().elements, {}});
  return {*std::move(info)};
}

}  // namespace fxtrace::internal::torchscript
