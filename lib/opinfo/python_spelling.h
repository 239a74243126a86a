// Operators of TorchScript as calls of Python with the same meaning, and back; numbers that these do not
// take.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "operators/schema.h"

namespace fxtrace::internal {

// Maps operators of TorchScript to the Python call with the same meaning: a function, an attribute, or an
// operator of torch.ops; and Python functions back to operators.

// The kind of Python call, and how an operator's arguments map to those of the call.
enum class TargetForm : std::uint8_t {
  kOperator,    // "aten.add.Tensor", called through torch.ops with the same arguments
  kSame,        // a Python name that takes the same arguments
  kAttribute,   // builtins.getattr(value, name)
  kSlice,       // operator.getitem(value, slice(start, stop, step))
  kExtendOne,   // operator.iadd(list, [value])
  kUnsupported  // no way to call it from Python
};

struct PythonTarget {
  std::string name;
  TargetForm form = TargetForm::kOperator;
};

// Returns the Python call of an operator; `base_name` is as "aten::add".  With a tensor among the parameters,
// most operators are called through torch.ops.
PythonTarget python_target(std::string_view base_name, std::string_view overload, const Schema& schema);
// Returns the call of the operator itself, through torch.ops; kUnsupported if that takes no such values.
PythonTarget operator_target(std::string_view base_name, std::string_view overload, const Schema& schema);

// Returns "operator.add" for "aten.add.int": the Python function that gives what an operator on plain values
// gives, unless the numbers are of those that lib/opinfo/python_spelling.h excludes.  Returns any other
// target as it is.
std::string_view python_function(std::string_view target);

// The inverse: returns "aten::add" for "operator.add".  Among several operators, prefers the one of the same
// name, then the first in byte order; empty when there is none without side effects (torch.save has some).
std::string operator_of_python(std::string_view target);

// Ranges of numbers, and where Python's functions and TorchScript's operators differ on numbers: TorchScript
// wraps integers to 64 bits, has inf and nan where Python raises, and converts int and float to each other.

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
