// Arrays: small tensors with known elements, and numbers, with which the value rules of operators compute.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "shapes/scalar_type.h"
#include "symbolic/sym_int.h"

namespace fxtrace::internal {

// An element: an integer or bool (0 and 1) or a float, depending on the dtype; or, in place of either, an
// expression of sizes that is not a number.
using Element = std::variant<std::int64_t, double, SymInt>;

inline constexpr std::int64_t kMaxKnownElements = 64;

// A tensor, or a Python number: an array without dimensions.
struct Array {
  ScalarType dtype = ScalarType::kInt64;
  std::vector<std::int64_t> sizes;
  std::vector<Element>
      elements;            // in row-major order, as many as the sizes say; floats are rounded to the dtype
  bool is_number = false;  // a Python number, whose dtype yields to those of tensors in promotion

  std::int64_t dim() const { return static_cast<std::int64_t>(sizes.size()); }
  std::int64_t count() const { return static_cast<std::int64_t>(elements.size()); }
  bool is_constant() const;  // returns whether no element is an expression of sizes
  // Returns the elements of a small tensor of at most one dimension as sizes; empty for other tensors, and
  // unless all elements are whole numbers.
  std::vector<SymInt> integers() const;
};

// Returns whether elements of the dtype can be known: bool, integers except uint16 to uint64, float32 and
// float64.
bool is_known_type(ScalarType type);
// Returns whether an element of the dtype may be an expression of sizes: other dtypes are too small, and
// float32 rounds large sizes.
bool holds_sizes(ScalarType type);

}  // namespace fxtrace::internal
