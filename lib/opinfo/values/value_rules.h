// The value rules, which rows of families name.
#pragma once

#include "opinfo/values/value_call.h"

namespace fxtrace::internal::values {

using Rule = Results(const ValueCall& call);

// number_values.cpp: Python numbers
Rule integer_power, power_of_scalars, ceil_of_scalar, number_as_tensor, logarithm_of_scalar, complex_quotient,
    integer_of_scalar, floor_quotient_of_numbers, truncated_quotient_of_numbers, remainder_by_sign,
    quotient_and_remainder, factorial, greatest_common_divisor, logical_not_of_bool, to_integer, to_float,
    to_bool, to_complex, range_length, derived_index, sum_of_list;
// math_values.cpp: functions of Python's module math, found by the operator's name
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
// creation_values.cpp: tensors from numbers, and numbers from tensors
Rule zeros, ones, full, scalar, tensor_of_list, arange, linspace, eye, sizes_as_tensor, item, implicit_scalar,
    implicit_integer, implicit_float, equal_tensors;
// query_values.cpp: sizes, dtypes and devices of tensors
Rule size, rank, element_count, length, is_floating_point, is_complex, is_signed, is_quantized, is_contiguous,
    stride, item_size, byte_count, is_same_size, text, device, device_index, device_type, device_number,
    layout, dtype, requires_grad, is_strided, is_sparse, is_on_device;
// list_values.cpp: lists
Rule item_of_list, part_of_list, same_list;

}  // namespace fxtrace::internal::values
