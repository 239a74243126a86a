// Operators on tensors that no data of a model goes into and that are small: as LibTorch carries them out on
// the CPU, to the last bit.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "script/plain_operators.h"
#include "script/tensor_value.h"

namespace fxtrace::script {

// Dense, of at most kMaxKnownElements elements that are in memory.
bool is_small(const TensorValue& tensor);

// What an operator gives for these arguments, which are all that its schema names, in its order; tensors
// among them are small.  `name` as Operator::name.  Nothing where the result is not known: where LibTorch
// raises, where its results depend on the machine (exp, sums of floats that are rounded), where they are not
// small, and where nobody has written it down.
std::optional<std::vector<Value>> compute_small(std::string_view name, Arguments arguments);

}  // namespace fxtrace::script
