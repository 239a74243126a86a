// Small tensors whose elements are known, and numbers: what the value rules of operators compute with.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "shapes/scalar_type.h"
#include "symbolic/sym_int.h"

namespace fxtrace {

// An element: an integer or bool (0 and 1), or a float, by the dtype; or an expression of sizes, which is no
// number, in the place of either.
using Element = std::variant<std::int64_t, double, SymInt>;

inline constexpr std::int64_t kMaxKnownElements = 64;

// A tensor, or a Python number: an array without dimensions.
struct Array {
  ScalarType dtype = ScalarType::kInt64;
  std::vector<std::int64_t> sizes;
  std::vector<Element>
      elements;            // in row-major order, as many as the sizes say; floats are rounded to the dtype
  bool is_number = false;  // a Python number, which yields to tensors where types are promoted

  std::int64_t dim() const { return static_cast<std::int64_t>(sizes.size()); }
  std::int64_t count() const { return static_cast<std::int64_t>(elements.size()); }
  bool is_constant() const;  // no element is an expression of sizes
  // Returns the elements of an integer tensor of at most one dimension, as sizes; none of others.
  std::vector<SymInt> integers() const;
};

// Returns whether elements of the dtype can be known: bool, integers except uint16 to uint64, float32 and
// float64.
bool is_known_type(ScalarType type);
// Returns whether an expression of sizes may stand in a tensor of that dtype: others are too small for it,
// and float32 rounds what counts many elements.
bool holds_sizes(ScalarType type);

}  // namespace fxtrace
