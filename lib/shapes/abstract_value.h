// What is known of a value: shape and dtype, elements of small tensors, strides.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "shapes/tensor_options.h"
#include "symbolic/shape_env.h"
#include "symbolic/sym_int.h"

namespace fxtrace::internal {

// Arrays: small tensors with known elements, and numbers, with which the value rules of operators compute.

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

// Abstract values: the facts that are known about a value without running anything.  For a tensor, its sizes,
// dtype and device; for an integer, an expression over named dimensions; for a plain value, the value itself.

// The elements of a small tensor that do not depend on input data.  Traced archives compute sizes in such
// tensors, and torchvision's detectors compute scales.
struct TensorContent {
  // Memory that tensors share: the number of writes to it, and that number when the elements were computed.
  struct Memory {
    std::shared_ptr<std::size_t> writes;
    std::size_t seen = 0;
  };
  std::shared_ptr<const Array> array;  // null when the elements are unknown
  std::vector<Memory> memory;          // the blocks in which the tensor may be

  bool holds() const;  // returns whether nothing was written there since
};

// The memory block of a tensor, numbered by a CostLog (costs/cost_log.h).  It is not part of the value: any
// two compare equal.
struct MemoryId {
  std::uint32_t log = 0, number = 0;  // 0: no log
  bool operator==(const MemoryId&) const { return true; }
};

struct TensorInfo {
  std::vector<SymInt> sizes;
  Dtype dtype;
  Device device = {};
  std::optional<bool> requires_grad = std::nullopt;  // see may_require_grad()
  // Contiguity; absent: unknown.  Shape rules need not set it.
  std::optional<bool> contiguous = std::nullopt;
  bool contiguity_assumed = false;  // `contiguous` relies on contiguous inputs for --input
  // The number of sparse dimensions of a sparse COO tensor.  Absent for strided tensors; tensors of other
  // layouts are unknown values.
  std::optional<std::int64_t> sparse_dim = std::nullopt;
  // Null for most tensors.  The interpreter sets it, not shape rules.
  std::shared_ptr<const TensorContent> content = nullptr;
  MemoryId memory = {};  // shape rules do not set it

  const TensorContent* find_content() const { return content && content->holds() ? content.get() : nullptr; }
  std::int64_t dim() const { return static_cast<std::int64_t>(sizes.size()); }
  bool is_static() const;  // returns whether every size is a number
  bool operator==(const TensorInfo&) const = default;
};

// A float that is an exact quotient of integers: x.size(0) / 2.
struct Ratio {
  SymInt numerator;
  std::int64_t denominator = 1;  // > 0
  bool operator==(const Ratio&) const = default;
};

// A bool that is a comparison of sizes: x.size(0) > n.
struct Condition {
  Relation relation = Relation::kEqual;
  SymInt left, right;
  bool operator==(const Condition&) const = default;
};

// The value None.
struct NoneValue {
  bool operator==(const NoneValue&) const = default;
};

struct AbstractValue {
  // The elements of a list or tuple of known length, or the attributes of an object, by slot.
  using Sequence = std::vector<AbstractValue>;
  // A dict with known keys.
  struct Dict {
    std::vector<AbstractValue> keys;
    std::vector<AbstractValue> values;  // as many as keys
    bool operator==(const Dict& other) const;
  };
  std::variant<std::monostate, TensorInfo, SymInt, Ratio, Condition, Sequence, Dict, NoneValue, Device,
               double, bool, std::complex<double>, std::string, ScalarType>
      value;

  bool is_unknown() const { return value.index() == 0; }
  const TensorInfo* tensor() const { return std::get_if<TensorInfo>(&value); }
  const SymInt* integer() const { return std::get_if<SymInt>(&value); }
  const Dict* dict() const { return std::get_if<Dict>(&value); }
  bool is_none() const { return std::holds_alternative<NoneValue>(value); }
  const Sequence* sequence() const { return std::get_if<Sequence>(&value); }
  // Returns the alternative `T`; null when the value is another.
  template <typename T>
  const T* get_if() const {
    return std::get_if<T>(&value);
  }
  bool operator==(const AbstractValue&) const;
};

// Clears the tensor contents of this value and all nested values.
void forget_contents(AbstractValue& value);

// Returns the join: the facts that hold for both values, element by element.
AbstractValue common(const AbstractValue& first, const AbstractValue& second);
AbstractValue::Sequence common(const AbstractValue::Sequence& first, const AbstractValue::Sequence& second);

// Contiguous strides: rows of the last dimension side by side, as torch makes them.

// Return the strides of a contiguous tensor; a size of 0 counts as 1.  Strides beyond 64 bits are the largest
// number, or throw SymbolicError.
std::vector<std::int64_t> contiguous_strides(const std::vector<std::int64_t>& sizes);
std::vector<SymInt> contiguous_strides(const std::vector<SymInt>& sizes);

// Returns whether a tensor with these strides is contiguous, as torch has it: strides of dimensions of size 1
// do not matter, nor do any if it has no elements.
bool is_contiguous(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& strides);

}  // namespace fxtrace::internal
