#include "opinfo/values/value_call.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <limits>
#include <utility>

#include "opinfo/rules/shape_helpers.h"
#include "support/integers.h"
#include "support/text/words.h"
#include "symbolic/python_operators.h"

namespace fxtrace::internal {

bool ValueCall::has_tensor() const {
  const CallArguments& values = args.values();
  for (std::size_t i = 0; i < std::min<std::size_t>(values.size(), 2); ++i) {
    if (values[i].tensor() != nullptr) return true;
  }
  return false;
}

namespace values {

// --- arguments ---

Array tensor_array(const AbstractValue& value) {
  const TensorInfo* info = value.tensor();
  const TensorContent* content = info != nullptr ? info->find_content() : nullptr;
  need(content != nullptr && content->array != nullptr);
  return *content->array;
}

Array array_of(const AbstractValue& value) {
  if (value.tensor() != nullptr) return tensor_array(value);
  if (const auto* flag = value.get_if<bool>()) return {ScalarType::kBool, {}, {std::int64_t{*flag}}, true};
  if (const auto* number = value.get_if<double>()) return {ScalarType::kFloat64, {}, {*number}, true};
  need(value.integer() != nullptr);
  return {ScalarType::kInt64, {}, {element_of(*value.integer(), ScalarType::kInt64)}, true};
}

Array array(const ValueCall& call, std::string_view name) { return array_of(call.args.value(name)); }
Array tensor(const ValueCall& call, std::string_view name) { return tensor_array(call.args.value(name)); }

std::vector<Array> tensors(const ValueCall& call, std::size_t i) {
  const auto* items = call[i].sequence();
  need(items != nullptr);
  std::vector<Array> arrays;
  for (const AbstractValue& item : *items) arrays.push_back(tensor_array(item));
  return arrays;
}

std::int64_t whole(const ValueCall& call, std::size_t i) {
  const SymInt* integer = call[i].integer();
  need(integer != nullptr && integer->is_number());
  return *integer->number();
}

Dtype wanted_dtype(const ValueCall& call) {
  return call.args.is_given("dtype") ? Dtype(call.args.dtype("dtype")) : std::nullopt;
}

std::size_t dim_of(const ValueCall& call, const Array& self) {
  return position_in(std::max<std::int64_t>(self.dim(), 1), call.args.number("dim"));
}

std::vector<bool> dims_of(const ValueCall& call, const Array& self) {
  const Dims given = call.args.is_given("dim") ? call.args.numbers("dim") : Dims{};
  std::vector<bool> seen(std::max<std::size_t>(self.sizes.size(), 1), given.empty());
  for (const std::int64_t dim : given) seen[position_in(static_cast<std::int64_t>(seen.size()), dim)] = true;
  seen.resize(self.sizes.size());
  return seen;
}

// --- elements ---

namespace {

template <class T>
const T& get(const Element& element) {
  const T* found = std::get_if<T>(&element);
  need(found != nullptr);
  return *found;
}

}  // namespace

double real(const Element& element) { return get<double>(element); }
std::int64_t integer(const Element& element) { return get<std::int64_t>(element); }
bool is_true(const Element& element) {
  const auto* number = std::get_if<double>(&element);
  return number != nullptr ? *number != 0 : integer(element) != 0;
}

SymInt size_of(const Element& element) {
  if (const auto* size = std::get_if<SymInt>(&element)) return *size;
  if (const auto* whole = std::get_if<std::int64_t>(&element)) return *whole;
  constexpr double kExact = 9007199254740992.0;  // 2^53
  const double number = std::get<double>(element);
  need(number == std::trunc(number) && std::abs(number) < kExact);
  return static_cast<std::int64_t>(number);
}

Element element_of(const SymInt& size, ScalarType dtype) {
  const auto number = size.number();
  if (!number) {
    need(holds_sizes(dtype));
    return size;
  }
  return is_floating(dtype) ? Element(static_cast<double>(*number)) : Element(*number);
}

Element real_element(double number, ScalarType dtype) {
  return dtype == ScalarType::kFloat32 ? double{static_cast<float>(number)} : number;
}

Element integer_element(std::uint64_t number, ScalarType dtype) {
  switch (dtype) {
    case ScalarType::kBool:
      return std::int64_t{number != 0};
    case ScalarType::kUint8:
      return std::int64_t{static_cast<std::uint8_t>(number)};
    case ScalarType::kInt8:
      return std::int64_t{static_cast<std::int8_t>(number)};
    case ScalarType::kInt16:
      return std::int64_t{static_cast<std::int16_t>(number)};
    case ScalarType::kInt32:
      return std::int64_t{static_cast<std::int32_t>(number)};
    default:
      need(dtype == ScalarType::kInt64);
      return wrapped(number);
  }
}

Element converted(const Element& element, ScalarType to) {
  if (const auto* size = std::get_if<SymInt>(&element)) {
    need(holds_sizes(to));
    return *size;
  }
  if (const auto* whole = std::get_if<std::int64_t>(&element)) {
    if (!is_floating(to)) return integer_element(bits(*whole), to);
    // A conversion through double would round twice.
    return to == ScalarType::kFloat32 ? double{static_cast<float>(*whole)} : static_cast<double>(*whole);
  }
  const double number = std::get<double>(element);
  if (is_floating(to)) return real_element(number, to);
  if (to == ScalarType::kBool) return std::int64_t{number != 0};
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  need(number > -kLimit && number < kLimit);
  const Element whole = static_cast<std::int64_t>(number);
  const Element result = integer_element(bits(integer(whole)), to);
  need(result == whole);
  return result;
}

Array cast(Array array, ScalarType dtype) {
  need(is_known_type(dtype));
  for (Element& element : array.elements) element = converted(element, dtype);
  array.dtype = dtype;
  return array;
}

Element fitting(const Array& number, ScalarType dtype) {
  const Element& given = nth(number.elements, 0);
  Element element = converted(given, dtype);
  if (!is_floating(dtype)) {
    need(element == given);
  } else if (const auto* from = std::get_if<double>(&given)) {
    // Some operators refuse a number that is too large for the dtype.
    need(std::isfinite(real(element)) || !std::isfinite(*from));
  }
  return element;
}

Element apply(const BinaryOperation& operation, const Element& a, const Element& b, ScalarType dtype) {
  if (const auto *x = std::get_if<std::int64_t>(&a), *y = std::get_if<std::int64_t>(&b); x && y) {
    need(operation.integers != nullptr);
    return integer_element(bits(operation.integers(*x, *y)), dtype);
  }
  if (const auto *x = std::get_if<double>(&a), *y = std::get_if<double>(&b); x && y) {
    need(operation.reals != nullptr);
    if (dtype != ScalarType::kFloat32) return operation.reals(*x, *y);
    return double{operation.floats(static_cast<float>(*x), static_cast<float>(*y))};
  }
  need(operation.sizes != nullptr);
  return element_of(operation.sizes(size_of(a), size_of(b)), dtype);
}

Element apply(const UnaryOperation& operation, const Element& element, ScalarType dtype) {
  if (const auto* whole = std::get_if<std::int64_t>(&element)) {
    need(operation.integers != nullptr);
    return integer_element(bits(operation.integers(*whole)), dtype);
  }
  if (const auto* number = std::get_if<double>(&element)) {
    need(operation.reals != nullptr);
    if (dtype != ScalarType::kFloat32) return operation.reals(*number);
    return double{operation.floats(static_cast<float>(*number))};
  }
  need(operation.sizes != nullptr);
  return element_of(operation.sizes(size_of(element)), dtype);
}

bool holds(Relation relation, const Element& a, const Element& b) {
  const auto *x = std::get_if<double>(&a), *y = std::get_if<double>(&b);
  const bool are_reals = x != nullptr && y != nullptr;
  return internal::holds(relation, are_reals ? *x <=> *y : std::partial_ordering(integer(a) <=> integer(b)));
}

// --- positions ---

std::size_t position_in(std::int64_t count, std::int64_t position) {
  const auto place = find_position(count, position);
  need(place.has_value());
  return *place;
}

std::int64_t count_of(const Dims& sizes) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) {
    need(size >= 0 && size <= kMaxKnownElements);
    count = std::min(count * size, kMaxKnownElements + 1);
  }
  need(count <= kMaxKnownElements);
  return count;
}

Dims places(std::int64_t place, const Dims& sizes) {
  Dims at(sizes.size());
  for (std::size_t i = sizes.size(); i > 0; --i) {
    at[i - 1] = place % sizes[i - 1];
    place /= sizes[i - 1];
  }
  return at;
}

std::int64_t place_of(const Dims& places, const Dims& sizes) {
  need(places.size() == sizes.size());
  std::int64_t place = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    need(places[i] >= 0 && places[i] < sizes[i]);
    place = place * sizes[i] + places[i];
  }
  return place;
}

// --- results ---

namespace {

Array result_of(const AbstractValue& shape) {
  const TensorInfo* info = shape.tensor();
  need(info != nullptr && info->dtype && is_known_type(*info->dtype) && !info->sparse_dim);
  Array array{*info->dtype, {}, {}};
  for (const SymInt& size : info->sizes) array.sizes.push_back(number_of(size));
  count_of(array.sizes);
  return array;
}

}  // namespace

std::string to_text(const Array& array) {
  const auto size_text = [](std::int64_t size) { return std::to_string(size); };
  const auto element_text = [](const Element& element) {
    const auto* number = std::get_if<double>(&element);
    if (number == nullptr) return size_of(element).text();
    std::string text = std::to_string(*number);
    return text.erase(text.find_last_not_of('0') + 1);
  };
  return dtype_name(array.dtype) + "[" + internal::joined(array.sizes, size_text, ",") + "]{" +
         internal::joined(array.elements, element_text, ",") + "}";
}

Array result(const ValueCall& call, std::size_t i) {
  need(i < call.shapes.size());
  return result_of(call.shapes[i]);
}

Array filled(Array result, const std::function<Element(const Dims&)>& from) {
  const std::int64_t count = count_of(result.sizes);
  for (std::int64_t place = 0; place < count; ++place)
    result.elements.push_back(from(places(place, result.sizes)));
  return result;
}

Array expanded(const Array& array, const Dims& sizes) {
  need(array.sizes.size() <= sizes.size());
  const auto more = static_cast<std::ptrdiff_t>(sizes.size() - array.sizes.size());
  return filled({array.dtype, sizes, {}}, [&](const Dims& at) {
    Dims own(at.begin() + more, at.end());
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (array.sizes[i] == 1) own[i] = 0;
    }
    return array.elements[static_cast<std::size_t>(place_of(own, array.sizes))];
  });
}

AbstractValue tensor_value(Array array) {
  need(is_known_type(array.dtype) && count_of(array.sizes) == array.count());
  TensorInfo info{{array.sizes.begin(), array.sizes.end()}, array.dtype};
  info.content = std::make_shared<const TensorContent>(
      TensorContent{std::make_shared<const Array>(std::move(array)), {}});
  return {std::move(info)};
}
Results one_result(Array array) { return {tensor_value(std::move(array))}; }

AbstractValue number_value(const Array& array) {
  need(array.count() == 1);
  const Element& element = only(array);
  if (array.dtype == ScalarType::kBool) return {is_true(element)};
  if (is_integral(array.dtype)) return {size_of(element)};
  if (const auto* size = std::get_if<SymInt>(&element)) return {Ratio{*size, 1}};
  return {real(element)};
}

Results give_list(const ValueCall& call, const std::function<Array(std::size_t, Array)>& from) {
  const auto* shapes = call.shapes.size() == 1 ? call.shapes[0].sequence() : nullptr;
  need(shapes != nullptr);
  AbstractValue::Sequence items;
  for (std::size_t i = 0; i < shapes->size(); ++i)
    items.push_back(tensor_value(from(i, result_of((*shapes)[i]))));
  return {{std::move(items)}};
}

bool is_sum_exact(std::span<const double> numbers, ScalarType dtype) {
  // All numbers are multiples of the smallest power of two in any of them, and their sum has few enough of
  // those to be exact.
  int lowest = std::numeric_limits<int>::max();
  for (const double number : numbers) {
    if (!std::isfinite(number)) return false;
    if (number == 0) {
      if (std::signbit(number)) return false;  // the sign of a sum of zeros is not determined
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
  constexpr double kMost = 4503599627370496.0;  // 2^52
  for (const double number : numbers) {
    if (number == 0) continue;
    sum += std::ldexp(std::abs(number), -lowest);
    if (!(sum < kMost)) return false;
  }
  constexpr double kFloat = 16777216.0;  // 2^24
  constexpr int kLeastExponent = -120, kMostExponent = 90;
  return dtype == ScalarType::kFloat64 || sum == 0 ||
         (sum < kFloat && lowest > kLeastExponent && lowest < kMostExponent);
}

}  // namespace values
}  // namespace fxtrace::internal
