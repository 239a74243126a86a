#include "script/small_array.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "script/small_tensors.h"

namespace fxtrace::script {
namespace {

constexpr double kLimit = 9223372036854775808.0;  // 2^63

Array array_of(const TensorValue& tensor) {
  need(is_small(tensor));
  return {tensor.dtype, tensor.sizes, elements_of(tensor), false,
          tensor.is_layout_known && tensor.is_contiguous()};
}

Array number_of(const Value& value) {
  Array array;
  array.is_number = true;
  TensorElement element;
  if (value.is_bool()) {
    array.dtype = ScalarType::kBool;
    element.integer = value.to_bool() ? 1 : 0;
  } else if (value.is_int()) {
    element.integer = value.to_int();
  } else {
    need(value.is_double());
    array.dtype = ScalarType::kFloat64;
    element.real = value.to_double();
  }
  array.elements = {element};
  return array;
}

const Value& value_at(Arguments arguments, std::size_t i) {
  need(i < arguments.size());
  return arguments[i];
}

}  // namespace

Array tensor_argument(Arguments arguments, std::size_t i) {
  need(value_at(arguments, i).is_tensor());
  return array_of(arguments[i].to_tensor());
}
Array number_argument(Arguments arguments, std::size_t i) { return number_of(value_at(arguments, i)); }
Array array_argument(Arguments arguments, std::size_t i) {
  return value_at(arguments, i).is_tensor() ? tensor_argument(arguments, i) : number_argument(arguments, i);
}
TensorRef view_argument(Arguments arguments, std::size_t i) {
  need(value_at(arguments, i).is_tensor() && is_small(arguments[i].to_tensor()));
  return TensorRef(&arguments[i].to_tensor());
}
std::vector<Array> tensors_argument(Arguments arguments, std::size_t i) {
  need(value_at(arguments, i).is_list());
  std::vector<Array> arrays;
  for (const Value& item : arguments[i].items()) {
    need(item.is_tensor());
    arrays.push_back(array_of(item.to_tensor()));
  }
  return arrays;
}
std::int64_t integer_argument(Arguments arguments, std::size_t i) {
  need(value_at(arguments, i).is_int());
  return arguments[i].to_int();
}
std::optional<std::int64_t> find_integer_argument(Arguments arguments, std::size_t i) {
  if (value_at(arguments, i).is_none()) return std::nullopt;
  return integer_argument(arguments, i);
}
bool flag_argument(Arguments arguments, std::size_t i) {
  need(value_at(arguments, i).is_bool());
  return arguments[i].to_bool();
}
bool is_given(Arguments arguments, std::size_t i) { return i < arguments.size() && !arguments[i].is_none(); }
Sizes integers_argument(Arguments arguments, std::size_t i) {
  if (value_at(arguments, i).is_int()) return {arguments[i].to_int()};
  need(arguments[i].is_list());
  Sizes sizes;
  for (const Value& item : arguments[i].items()) {
    need(item.is_int());
    sizes.push_back(item.to_int());
  }
  return sizes;
}
Dtype find_dtype_argument(Arguments arguments, std::size_t i) {
  const auto number = find_integer_argument(arguments, i);
  if (!number) return std::nullopt;
  const Dtype dtype = find_scalar_type(*number);
  need(dtype && is_known_type(*dtype));
  return dtype;
}

void give(Results& results, Array array) {
  need(is_known_type(array.dtype) && count_of(array.sizes) == array.count());
  TensorRef tensor = make_tensor(array.dtype, std::move(array.sizes), std::move(array.elements));
  tensor->is_layout_known = array.is_layout_known;
  results.emplace_back(std::move(tensor));
}

std::int64_t count_of(const Sizes& sizes) {
  need(std::ranges::all_of(sizes, [](std::int64_t size) { return size >= 0; }));
  const auto count = element_count(sizes);
  need(count && *count <= kMaxKnownElements && contiguous_strides(sizes));
  return *count;
}

std::int64_t wrapped_dim(std::int64_t dim, std::int64_t rank) {
  const std::int64_t dims = std::max<std::int64_t>(rank, 1);
  need(dim >= -dims && dim < dims);
  return dim < 0 ? dim + dims : dim;
}

double rounded(double number, ScalarType dtype) {
  return dtype == ScalarType::kFloat32 ? double{static_cast<float>(number)} : number;
}

TensorElement integer_element(std::uint64_t number, ScalarType dtype) {
  TensorElement element;
  switch (dtype) {
    case ScalarType::kBool:
      element.integer = number != 0 ? 1 : 0;
      break;
    case ScalarType::kUint8:
      element.integer = static_cast<std::uint8_t>(number);
      break;
    case ScalarType::kInt8:
      element.integer =
          static_cast<std::int8_t>(number);  // NOLINT(bugprone-signed-char-misuse): the sign counts
      break;
    case ScalarType::kInt16:
      element.integer = static_cast<std::int16_t>(number);
      break;
    case ScalarType::kInt32:
      element.integer = static_cast<std::int32_t>(number);
      break;
    default:
      need(dtype == ScalarType::kInt64);
      element.integer = static_cast<std::int64_t>(number);
  }
  return element;
}

TensorElement converted(TensorElement element, ScalarType from, ScalarType to) {
  if (is_floating(from) && is_floating(to)) return {.real = rounded(element.real, to)};
  if (is_floating(to)) {
    // Not by way of a double, which would round twice.
    return to == ScalarType::kFloat32 ? TensorElement{.real = static_cast<float>(element.integer)}
                                      : TensorElement{.real = static_cast<double>(element.integer)};
  }
  if (!is_floating(from)) return integer_element(static_cast<std::uint64_t>(element.integer), to);
  if (to == ScalarType::kBool) return {.integer = element.real != 0 ? 1 : 0};
  need(element.real > -kLimit && element.real < kLimit);
  const TensorElement whole{.integer = static_cast<std::int64_t>(element.real)};
  const TensorElement result = integer_element(static_cast<std::uint64_t>(whole.integer), to);
  need(result.integer == whole.integer);
  return result;
}

Array cast(Array array, ScalarType dtype) {
  need(is_known_type(dtype));
  for (TensorElement& element : array.elements) element = converted(element, array.dtype, dtype);
  array.dtype = dtype;
  return array;
}

TensorElement element_of(const Array& number, ScalarType dtype) {
  const TensorElement element = converted(number.elements.at(0), number.dtype, dtype);
  if (!is_floating(dtype)) {
    need(!number.is_real() && element.integer == number.elements[0].integer);
  } else if (number.is_real()) {
    // A number too large for the dtype is one that some operators refuse.
    need(std::isfinite(element.real) || !std::isfinite(number.elements[0].real));
  }
  return element;
}

ScalarType common_type(std::span<const Array> arrays) {
  Dtype with_dims, without_dims, numbers;
  const auto add = [](Dtype& to, ScalarType type) {
    to = to ? promote(*to, type) : Dtype(type);
    need(to.has_value());
  };
  for (const Array& array : arrays) {
    if (array.is_number) {
      add(numbers, array.is_real() ? kDefaultFloat : array.dtype);
    } else {
      add(array.sizes.empty() ? without_dims : with_dims, array.dtype);
    }
  }
  const auto combine = [](Dtype higher, Dtype lower) {
    if (!higher || !lower) return higher ? higher : lower;
    if (is_floating(*higher)) return higher;
    return *higher == ScalarType::kBool || is_floating(*lower) ? promote(*higher, *lower) : higher;
  };
  const Dtype result = combine(with_dims, combine(without_dims, numbers));
  need(result.has_value());
  return *result;
}

Sizes broadcast(const Sizes& a, const Sizes& b) {
  Sizes result(std::max(a.size(), b.size()));
  for (std::size_t behind = 0; behind < result.size(); ++behind) {
    const std::int64_t x = behind < a.size() ? a[a.size() - 1 - behind] : 1;
    const std::int64_t y = behind < b.size() ? b[b.size() - 1 - behind] : 1;
    need(x == y || x == 1 || y == 1);
    result[result.size() - 1 - behind] = x == 1 ? y : x;
  }
  count_of(result);
  return result;
}

Array expanded(const Array& array, const Sizes& sizes) {
  Array result{array.dtype, sizes, {}, array.is_number, array.is_layout_known};
  const std::int64_t count = count_of(sizes);
  for (std::int64_t place = 0; place < count; ++place) {
    std::int64_t rest = place, from = 0, stride = 1;
    for (std::size_t behind = 0; behind < sizes.size(); ++behind) {
      const std::int64_t at = rest % sizes[sizes.size() - 1 - behind];
      rest /= sizes[sizes.size() - 1 - behind];
      if (behind >= array.sizes.size()) continue;
      const std::int64_t own = array.sizes[array.sizes.size() - 1 - behind];
      if (own != 1) from += at * stride;
      stride *= own;
    }
    result.elements.push_back(array.elements.at(static_cast<std::size_t>(from)));
  }
  return result;
}

Array combined(const Array& a, const Array& b, ScalarType result,
               const std::function<TensorElement(TensorElement, TensorElement)>& f) {
  const Sizes sizes = broadcast(a.sizes, b.sizes);
  const Array x = expanded(a, sizes), y = expanded(b, sizes);
  Array out{result, sizes, {}, false, a.is_layout_known && b.is_layout_known};
  for (std::size_t i = 0; i < x.elements.size(); ++i) out.elements.push_back(f(x.elements[i], y.elements[i]));
  return out;
}

bool is_sum_exact(std::span<const double> numbers, ScalarType dtype) {
  // All are multiples of the smallest power of two that any has, and their sum has few enough of those.
  int lowest = std::numeric_limits<int>::max();
  for (const double number : numbers) {
    if (!std::isfinite(number)) return false;
    if (number == 0) {
      if (std::signbit(number)) return false;  // of zeros alone the sum may be either
      continue;
    }
    int exponent = 0;
    double mantissa = std::frexp(number, &exponent);
    constexpr int kBits = 53;
    mantissa = std::ldexp(mantissa, kBits);
    auto whole = static_cast<std::int64_t>(mantissa);
    exponent -= kBits;
    while (whole % 2 == 0) {
      whole /= 2;
      ++exponent;
    }
    lowest = std::min(lowest, exponent);
  }
  double sum = 0;
  constexpr double kLargest = 4503599627370496.0;  // 2^52
  for (const double number : numbers) {
    if (number == 0) continue;
    sum += std::ldexp(std::abs(number), -lowest);
    if (!(sum < kLargest)) return false;
  }
  constexpr double kFloat = 16777216.0;  // 2^24
  constexpr int kLeastExponent = -120, kMostExponent = 90;
  return dtype == ScalarType::kFloat64 || sum == 0 ||
         (sum < kFloat && lowest > kLeastExponent && lowest < kMostExponent);
}

}  // namespace fxtrace::script
