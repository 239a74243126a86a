// Reconstruction of calls of recurrent torch.nn modules (RNN, LSTM, GRU and their cells) from one operator,
// or from its decomposition.
#pragma once

#include <optional>
#include <string_view>

#include "exported/modules/leaf_flow.h"

namespace fxtrace::internal {

// Returns the call of a recurrent module; `module` is the name of its class in torch.nn.  Returns nothing for
// other classes, and when the operations are not those of such a module.
std::optional<LeafCall> recurrent_call(const LeafOperations& leaf, const Flow& flow, std::string_view module);

}  // namespace fxtrace::internal
