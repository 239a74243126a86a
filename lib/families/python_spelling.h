// How Python calls an operator of TorchScript: by a function of its own, an attribute, or through torch.ops.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "operators/schema.h"

namespace fxtrace {

// How the arguments of an operator become those of its Python name.
enum class TargetForm : std::uint8_t {
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

// `base_name` as "aten::add".  With a tensor among the arguments most operators go by their own name.
PythonTarget python_target(std::string_view base_name, std::string_view overload, const Schema& schema);

// The other way round: "aten::add" for "operator.add".  Of several the one of the same name, else the first
// in byte order; empty when there is none.
std::string operator_of_python(std::string_view target);

}  // namespace fxtrace
