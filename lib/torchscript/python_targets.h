// Targets of call_function nodes: which operators go by a Python name, and which by their own.
#pragma once

#include <ATen/core/function_schema.h>

#include <optional>
#include <string>

namespace fxtrace {

// How the arguments of an operator become those of its Python name.
enum class TargetForm {
  kOperator,    // "aten.add.Tensor", called through torch.ops with the arguments as they stand
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

PythonTarget python_target(const c10::FunctionSchema& schema);

}  // namespace fxtrace
