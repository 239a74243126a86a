// Arithmetic on Python numbers: known numbers, sizes, and exact fractions of sizes.  Results of known numbers
// are those of TorchScript.  All functions throw CannotTell for values other than numbers.
#pragma once

#include <optional>

#include "opinfo/values/value_call.h"

namespace fxtrace::internal::values {

AbstractValue apply(const BinaryOperation& operation, const AbstractValue& a, const AbstractValue& b,
                    const ShapeEnv& dimensions);
AbstractValue apply(const UnaryOperation& operation, const AbstractValue& a, const ShapeEnv& dimensions);
AbstractValue apply_to_reals(const BinaryOperation& operation, const AbstractValue& a,
                             const AbstractValue& b);
AbstractValue bits_of_numbers(const BinaryOperation& operation, const AbstractValue& a,
                              const AbstractValue& b);
AbstractValue true_quotient(const AbstractValue& a, const AbstractValue& b);
AbstractValue number_remainder(const AbstractValue& a, const AbstractValue& b, const ShapeEnv& dimensions);
AbstractValue number_power(const AbstractValue& a, const AbstractValue& b);
// Applies floor, ceil, trunc or round.
AbstractValue rounded_number(const UnaryOperation& operation, const ValueCall& call);
// Compares two numbers, lists of integers, or devices.
AbstractValue compare_values(Relation relation, const ValueCall& call);

// Returns the least or largest of two numbers, or of the numbers in a list.
AbstractValue extreme_of_numbers(const ValueCall& call, bool largest);

// Returns an argument as a float.
double real_argument(const ValueCall& call, std::size_t i);

Results places_of_true(const ValueCall& call);  // reduction_values.cpp
std::optional<Results> joined_lists(
    const ValueCall& call);  // math_and_list_values.cpp; nothing for arguments other than lists

}  // namespace fxtrace::internal::values
