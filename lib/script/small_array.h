// What the implementations of operators on small tensors (small_views.cpp and its like) share.
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

// Thrown where a result is not known; compute_small() catches it.
struct NotKnown {};
inline void need(bool holds) {
  if (!holds) throw NotKnown{};
}

// The tables, each in a file of its name: small_creation.cpp, ...
PlainTable creation_operators();     // tensors of numbers alone, and numbers of tensors
PlainTable elementwise_operators();  // those that IEEE 754 or two's complement decide
PlainTable reduction_operators();    // sums, products, extremes and orders
PlainTable view_operators();         // views, and copies of elements in another order

using Sizes = std::vector<std::int64_t>;

// Elements in row-major order.  Those of float32 are doubles that a float has room for.
struct Array {
  ScalarType dtype = ScalarType::kInt64;
  Sizes sizes;
  std::vector<TensorElement> elements;
  bool is_number = false;       // a number of Python's, that gives way to tensors where types are mixed
  bool is_layout_known = true;  // its elements were in this order

  std::int64_t dim() const { return static_cast<std::int64_t>(sizes.size()); }
  std::int64_t count() const { return static_cast<std::int64_t>(elements.size()); }
  bool is_real() const { return is_floating(dtype); }
};

// They throw NotKnown for an argument of another kind.
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
    const Sizes& sizes);  // throws NotKnown for more than kMaxKnownElements, and sizes that are none
std::int64_t wrapped_dim(std::int64_t dim, std::int64_t rank);  // of -1 the last; that of a scalar is 0

// To the dtype, as C++ converts it; NotKnown where it leaves the result open.
TensorElement converted(TensorElement element, ScalarType from, ScalarType to);
Array cast(Array array, ScalarType dtype);
// The number is to be one of the dtype as it is.
TensorElement element_of(const Array& number, ScalarType dtype);
double rounded(double number, ScalarType dtype);  // to a float where the dtype is float32
TensorElement integer_element(std::uint64_t number, ScalarType dtype);  // wraps around

// torch.result_type.
ScalarType common_type(std::span<const Array> arrays);

Sizes broadcast(const Sizes& a, const Sizes& b);
Array expanded(const Array& array, const Sizes& sizes);
// Of both, broadcast: f(a, b) of elements that have the common type.
Array combined(const Array& a, const Array& b, ScalarType result,
               const std::function<TensorElement(TensorElement, TensorElement)>& f);

// Whether the sum of these floats is the same in whatever order they are added: nothing is rounded.
bool is_sum_exact(std::span<const double> numbers, ScalarType dtype);

}  // namespace fxtrace::script
