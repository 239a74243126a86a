// A call whose result a value rule computes, and helpers for these rules.
//
// A value rule computes the elements of results, whose sizes and dtypes the operator's shape rule has found;
// or a number, a condition, a list.  It is exact: its results are those of torch, bit for bit.  It throws
// CannotTell when an element is unknown, when torch would raise, and when the result depends on the machine
// (exp, rounded sums).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "opinfo/rules/shape_helpers.h"
#include "shapes/abstract_value.h"
#include "symbolic/arithmetic.h"

namespace fxtrace::internal {

struct ValueCall {
  const RuleArguments& args;
  const Results& shapes;  // of all results, from the shape rule; unknown if it has none

  const AbstractValue& operator[](std::size_t i) const { return args.values()[i]; }  // throws CannotTell
  std::size_t size() const { return args.values().size(); }
  bool has_tensor() const;  // among its first two arguments
};

// A value rule.  Throws CannotTell when the result is unknown.
using ValueRule = Results (*)(const ValueCall& call);

namespace values {

using Dims = std::vector<std::int64_t>;

inline void need(bool holds) {
  if (!holds) throw CannotTell{};
}

// Returns the only element of an array; throws CannotTell unless it has one.
inline const Element& only(const Array& array) {
  need(array.count() == 1);
  return array.elements[0];
}

// ---- Arguments ----
Array array_of(const AbstractValue& value);      // a tensor with known elements, or a number
Array tensor_array(const AbstractValue& value);  // a tensor with known elements
Array array(const ValueCall& call, std::string_view name);
Array tensor(const ValueCall& call, std::string_view name);
std::vector<Array> tensors(const ValueCall& call, std::size_t i);  // a list of tensors
std::int64_t whole(const ValueCall& call, std::size_t i);          // a known integer
Dtype wanted_dtype(const ValueCall& call);                         // the argument `dtype`, if it is given
std::size_t dim_of(const ValueCall& call, const Array& self);  // the argument `dim`, from 0; 0 for a scalar
// Returns for each dimension whether the argument `dim` names it; all when it is absent or empty.
std::vector<bool> dims_of(const ValueCall& call, const Array& self);

// ---- Elements ----
bool is_true(const Element& element);
double real(const Element& element);           // the value of a float
std::int64_t integer(const Element& element);  // the value of an integer
SymInt size_of(const Element& element);        // an integer, an expression, or a whole float
Element element_of(const SymInt& size, ScalarType dtype);
Element integer_element(std::uint64_t number, ScalarType dtype);  // wraps around
Element real_element(double number, ScalarType dtype);            // rounded to the dtype
// Converts as C++ does; throws CannotTell when C++ leaves the result undefined.
Element converted(const Element& element, ScalarType to);
Array cast(Array array, ScalarType dtype);
// Returns a Python number as an element of a tensor; throws CannotTell if the dtype cannot hold it.
Element fitting(const Array& number, ScalarType dtype);
Element apply(const BinaryOperation& operation, const Element& a, const Element& b, ScalarType dtype);
Element apply(const UnaryOperation& operation, const Element& element, ScalarType dtype);
bool holds(Relation relation, const Element& a, const Element& b);

// ---- Positions ----
// Returns the index for a Python position among `count` items, which counts from the end when negative;
// throws CannotTell when out of range.
std::size_t position_in(std::int64_t count, std::int64_t position);
std::int64_t count_of(const Dims& sizes);  // throws CannotTell for more than kMaxKnownElements
// Returns the index of an element in each dimension, from its index in row-major order; place_of() is the
// inverse.
Dims places(std::int64_t place, const Dims& sizes);
std::int64_t place_of(const Dims& places, const Dims& sizes);

// ---- Results ----
// Returns a text such as "int64[2]{1,n+3}".
std::string to_text(const Array& array);
// Returns an array with the sizes and dtype of the i-th result, and no elements yet.
Array result(const ValueCall& call, std::size_t i = 0);
// Fills the array: each element is from(its index in each dimension).
Array filled(Array result, const std::function<Element(const Dims&)>& from);
Array expanded(const Array& array, const Dims& sizes);
Results one_result(Array array);
AbstractValue tensor_value(Array array);
AbstractValue number_value(const Array& array);  // the only element, as a number
// Returns one result, a list with as many tensors as the shape rule gave; from(i, result) makes each.
Results give_list(const ValueCall& call, const std::function<Array(std::size_t, Array)>& from);

// Returns whether the sum of these floats is exact, and therefore the same in any order of additions.
bool is_sum_exact(std::span<const double> numbers, ScalarType dtype);

}  // namespace values
}  // namespace fxtrace::internal

namespace fxtrace::internal::values {

// The value rules, which rows of families name.

using Rule = Results(const ValueCall& call);

// number_values.cpp: Python numbers
Rule integer_power, power_of_scalars, ceil_of_scalar, number_as_tensor, logarithm_of_scalar, complex_quotient,
    integer_of_scalar, floor_quotient_of_numbers, truncated_quotient_of_numbers, remainder_by_sign,
    quotient_and_remainder, factorial, greatest_common_divisor, logical_not_of_bool, to_integer, to_float,
    to_bool, to_complex, range_length, derived_index, sum_of_list;
// math_and_list_values.cpp: functions of Python's module math, found by the operator's name
Rule math_function;
// elementwise_values.cpp: tensors; and numbers, if no argument is a tensor
Rule add, subtract, subtract_from, multiply, divide, floor_divide, remainder, truncated_remainder, power,
    negative, magnitude, sign, square, floor, ceil, trunc, round, fraction, root, reciprocal, reciprocal_root,
    copysign, equal, not_equal, less, less_equal, greater, greater_equal, logical_and, logical_or,
    logical_xor, logical_not, bit_and, bit_or, bit_xor, bit_not, shift_left, shift_right, maximum, minimum,
    clamp, clamp_min, clamp_max, is_nan, is_infinite, is_finite, all_close, where, masked_fill;
// reduction_values.cpp: sums, extremes, sorting
Rule sum, mean, product, any, all, largest, smallest, amax, amin, argmax, argmin, cumulative_sum,
    cumulative_product, sort, argsort, matrix_product, outer, difference, lower_triangle, upper_triangle;
// order_values.cpp: the same elements in other sizes, orders and dtypes
Rule same_elements, contiguous, cast, expand, expand_all, permute, transpose, transpose_matrix, move_dims,
    select, slice, narrow, split, unbind, flip, roll, repeat, gather, index_select, take, join, stack,
    stack_rows, stack_columns, meshgrid;
// creation_and_query_values.cpp: tensors from numbers, and numbers from tensors
Rule zeros, ones, full, scalar, tensor_of_list, arange, linspace, eye, sizes_as_tensor, item, implicit_scalar,
    implicit_integer, implicit_float, equal_tensors;
// creation_and_query_values.cpp: sizes, dtypes and devices of tensors
Rule size, rank, element_count, length, is_floating_point, is_complex, is_signed, is_quantized, is_contiguous,
    stride, item_size, byte_count, is_same_size, text, device, device_index, device_type, device_number,
    layout, dtype, requires_grad, is_strided, is_sparse, is_on_device;
// math_and_list_values.cpp: lists
Rule item_of_list, part_of_list, same_list;

}  // namespace fxtrace::internal::values
