// Maps operators of TorchScript to the way in which Python calls them: a function, an attribute, or
// torch.ops.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "operators/schema.h"

namespace fxtrace {

// The mapping of an operator's arguments to those of the Python call.
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

// The inverse: returns "aten::add" for "operator.add".  Of several operators, the one of the same name, else
// the first in byte order; empty when there is none, or only one with side effects (torch.save).
std::string operator_of_python(std::string_view target);

}  // namespace fxtrace
