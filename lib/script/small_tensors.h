// Executes operators on small tensors that do not depend on data, with bit-exact results of LibTorch on the
// CPU.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "script/plain_operators.h"
#include "script/tensor_value.h"

namespace fxtrace::script {

// Returns whether the tensor is dense and has at most kMaxKnownElements elements, all in memory.
bool is_small(const TensorValue& tensor);

// Returns the results of an operator; `arguments` are all that its schema names, in order, and tensors among
// them must be small.  `name` is Operator::name.  Nothing when LibTorch would raise, when results depend on
// the machine (exp, rounded sums of floats) or are not small, and when the operator is not implemented.
std::optional<std::vector<Value>> compute_small(std::string_view name, Arguments arguments);

}  // namespace fxtrace::script
