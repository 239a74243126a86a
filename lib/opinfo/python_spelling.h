// Maps operators of TorchScript to the Python call with the same meaning: a function, an attribute, or an
// operator of torch.ops; and Python functions back to operators.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "operators/schema.h"

namespace fxtrace::internal {

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
// gives, unless the numbers are of those that lib/opinfo/number_range.h excludes.  Returns any other target
// as it is.
std::string_view python_function(std::string_view target);

// The inverse: returns "aten::add" for "operator.add".  Among several operators, prefers the one of the same
// name, then the first in byte order; empty when there is none without side effects (torch.save has some).
std::string operator_of_python(std::string_view target);

}  // namespace fxtrace::internal
