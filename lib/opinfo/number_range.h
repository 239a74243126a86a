// Ranges of numbers, and where Python's functions and TorchScript's operators differ on numbers: TorchScript
// wraps integers to 64 bits, has inf and nan where Python raises, and converts int and float to each other.
#pragma once

#include <limits>
#include <span>
#include <string_view>

#include "operators/schema.h"

namespace fxtrace::internal {

// A closed range.  One with an infinite end may also hold nan.
struct NumberRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  // A size of a tensor, or computed from sizes and small numbers alone: arithmetic on such never leaves 64
  // bits, and the numbers are exact as floats.
  bool is_size = false;

  bool is_finite() const;
  bool is_within(double least, double most) const { return least <= low && high <= most; }
};

// Returns the range of a number of the type ("int", "float", "bool"), of which nothing else is known.
NumberRange range_of_type(std::string_view type);
// Returns the range of a literal.
NumberRange range_of_number(double number);
// Returns the range of the size of a tensor, or of the length of a list.
NumberRange range_of_size();

// Returns the range of the result, of the type, of a Python function ("operator.add", "math.sqrt") that gives
// what the operator of TorchScript gives.
NumberRange range_of_result(std::string_view python, std::string_view type,
                            std::span<const NumberRange> ranges);

// Returns whether the Python function with which python_target() spells the operator may give another result
// than the operator, or raise where that does not, or does not raise where that does, for arguments in these
// ranges.  The ranges of arguments that are no numbers do not matter.
bool differs_in_python(std::string_view base_name, const Schema& schema, std::span<const NumberRange> ranges);

}  // namespace fxtrace::internal
