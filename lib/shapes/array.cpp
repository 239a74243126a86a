#include "shapes/array.h"

#include <algorithm>
#include <cmath>

namespace fxtrace::internal {

bool Array::is_constant() const {
  return std::ranges::none_of(elements,
                              [](const Element& element) { return std::holds_alternative<SymInt>(element); });
}

std::vector<SymInt> Array::integers() const {
  constexpr std::int64_t kMostSizes = 16;
  const bool is_list = dim() <= 1 && count() <= kMostSizes && dtype != ScalarType::kBool;
  if (!is_list || !(is_integral(dtype) || holds_sizes(dtype))) return {};
  std::vector<SymInt> result;
  for (const Element& element : elements) {
    if (const auto* integer = std::get_if<std::int64_t>(&element)) {
      result.emplace_back(*integer);
    } else if (const auto* size = std::get_if<SymInt>(&element)) {
      result.push_back(*size);
    } else if (const double real = std::get<double>(element);
               real == std::trunc(real) && std::abs(real) < 1e15) {
      result.emplace_back(static_cast<std::int64_t>(real));
    } else {
      return {};
    }
  }
  return result;
}

bool is_known_type(ScalarType type) {
  switch (type) {
    case ScalarType::kBool:
    case ScalarType::kUint8:
    case ScalarType::kInt8:
    case ScalarType::kInt16:
    case ScalarType::kInt32:
    case ScalarType::kInt64:
    case ScalarType::kFloat32:
    case ScalarType::kFloat64:
      return true;
    default:
      return false;
  }
}

bool holds_sizes(ScalarType type) {
  return type == ScalarType::kInt64 || type == ScalarType::kInt32 || type == ScalarType::kFloat64;
}

}  // namespace fxtrace::internal
