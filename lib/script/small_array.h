// Helpers shared by the implementations of operators on small tensors (small_views.cpp and others).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "script/plain_call.h"
#include "script/tensor_value.h"

namespace fxtrace::script {

// Thrown when a result is unknown; compute_small() catches it.
struct NotKnown {};
inline void need(bool holds) {
  if (!holds) throw NotKnown{};
}

// The tables, each in a file of its name: small_creation.cpp, ...
PlainTable creation_operators();     // tensors from numbers, and numbers from tensors
PlainTable elementwise_operators();  // those defined by IEEE 754 or two's complement
PlainTable reduction_operators();    // sums, products, extremes and sorting
PlainTable view_operators();         // views, and copies of elements in another order

using Sizes = std::vector<std::int64_t>;

// An array of elements in row-major order.  Elements of float32 are doubles that a float can represent.
struct Array {
  ScalarType dtype = ScalarType::kInt64;
  Sizes sizes;
  std::vector<TensorElement> elements;
  bool is_number = false;       // a Python number, which yields to tensors in type promotion
  bool is_layout_known = true;  // the tensor is known to be contiguous

  std::int64_t dim() const { return static_cast<std::int64_t>(sizes.size()); }
  std::int64_t count() const { return static_cast<std::int64_t>(elements.size()); }
  bool is_real() const { return is_floating(dtype); }
  bool is_true(TensorElement element) const { return is_real() ? element.real != 0 : element.integer != 0; }
};

// These return an argument and throw NotKnown for another kind.
Array array_argument(Arguments arguments, std::size_t i);     // a tensor or a number
Array tensor_argument(Arguments arguments, std::size_t i);    // a tensor
Array number_argument(Arguments arguments, std::size_t i);    // a number, of int64, bool or float32
TensorRef view_argument(Arguments arguments, std::size_t i);  // a tensor as it is
std::vector<Array> tensors_argument(Arguments arguments, std::size_t i);
std::int64_t integer_argument(Arguments arguments, std::size_t i);
std::optional<std::int64_t> find_integer_argument(Arguments arguments, std::size_t i);
bool flag_argument(Arguments arguments, std::size_t i);
bool is_given(Arguments arguments, std::size_t i);
Sizes integers_argument(Arguments arguments, std::size_t i);  // a list, or one integer
Dtype find_dtype_argument(Arguments arguments, std::size_t i);

void give(Results& results, Array array);
std::int64_t count_of(
    const Sizes& sizes);  // throws NotKnown for invalid sizes, or more than kMaxKnownElements
std::int64_t wrapped_dim(std::int64_t dim, std::int64_t rank);  // -1 is the last; 0 for a scalar

// Converts to the dtype as C++ does; throws NotKnown when that is undefined.
TensorElement converted(TensorElement element, ScalarType from, ScalarType to);
Array cast(Array array, ScalarType dtype);
// Returns the number as an element of the dtype; it must be representable.
TensorElement element_of(const Array& number, ScalarType dtype);
double rounded(double number, ScalarType dtype);                        // to float precision for float32
TensorElement integer_element(std::uint64_t number, ScalarType dtype);  // wraps around

// Returns the promoted dtype, as torch.result_type.
ScalarType common_type(std::span<const Array> arrays);

Sizes broadcast(const Sizes& a, const Sizes& b);
Array expanded(const Array& array, const Sizes& sizes);
// Broadcasts both and applies f(a, b) to elements of the common dtype.
Array combined(const Array& a, const Array& b, ScalarType result,
               const std::function<TensorElement(TensorElement, TensorElement)>& f);

// Returns whether the sum of these floats is exact, and so independent of the order of additions.
bool is_sum_exact(std::span<const double> numbers, ScalarType dtype);

}  // namespace fxtrace::script
