#include "convert/lower/element_bytes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "shapes/scalar_type.h"

namespace fxtrace::internal {
namespace {

// Returns the bits of a 16-bit float with so many bits of fraction, rounded to nearest, ties to even.
std::uint64_t short_bits(double number, int fraction) {
  const int bias = (1 << (14 - fraction)) - 1;
  const std::uint64_t sign = std::signbit(number) ? 1U << 15 : 0;
  const auto infinity = static_cast<std::uint64_t>(2 * bias + 1) << fraction;
  if (std::isnan(number)) return infinity | std::uint64_t{1} << (fraction - 1);
  if (std::isinf(number)) return sign | infinity;
  if (number == 0) return sign;
  const int exponent = std::max(std::ilogb(number), 1 - bias);
  const auto steps =
      static_cast<std::uint64_t>(std::nearbyint(std::ldexp(std::abs(number), fraction - exponent)));
  // The leading bit of `steps` adds one to the exponent, and one more if the fraction is rounded up to 2.
  const std::uint64_t bits = (static_cast<std::uint64_t>(exponent + bias - 1) << fraction) + steps;
  return sign | std::min(bits, infinity);
}

std::optional<std::uint64_t> bits_of(const Argument& element, ScalarType type) {
  const auto* flag = element.get_if<bool>();
  const auto* integer = element.get_if<std::int64_t>();
  const auto* real = element.get_if<double>();
  if (flag == nullptr && integer == nullptr && real == nullptr) return std::nullopt;
  if (is_integral(type)) {
    const std::int64_t whole = flag != nullptr      ? *flag
                               : integer != nullptr ? *integer
                                                    : static_cast<std::int64_t>(*real);
    return type == ScalarType::kBool ? static_cast<std::uint64_t>(whole != 0)
                                     : static_cast<std::uint64_t>(whole);
  }
  const double number = real != nullptr ? *real : integer != nullptr ? static_cast<double>(*integer) : *flag;
  switch (type) {
    case ScalarType::kFloat64:
      return std::bit_cast<std::uint64_t>(number);
    case ScalarType::kFloat32:
      return std::bit_cast<std::uint32_t>(static_cast<float>(number));
    // torch converts the number to float32 first.
    case ScalarType::kFloat16:
      return short_bits(static_cast<float>(number), 10);
    case ScalarType::kBfloat16:
      return short_bits(static_cast<float>(number), 7);
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<std::string> element_bytes(const std::vector<Argument>& elements, std::string_view dtype) {
  const Dtype type = find_scalar_type(dtype);
  if (!type) return std::nullopt;
  std::string bytes;
  for (const Argument& element : elements) {
    const auto bits = bits_of(element, *type);
    if (!bits) return std::nullopt;
    for (int i = 0; i < item_size(*type); ++i) bytes += static_cast<char>(*bits >> (8 * i) & 0xFF);
  }
  return bytes;
}

}  // namespace fxtrace::internal
