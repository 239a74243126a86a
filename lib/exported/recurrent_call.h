// The calls of recurrent modules of torch.nn: of one operator, or of what it is decomposed into.
#pragma once

#include <optional>
#include <string_view>

#include "exported/leaf_flow.h"

namespace fxtrace {

// `module` is the name of a class of torch.nn.  Nothing for other classes, and where the operations are not
// what such a module does.
std::optional<LeafCall> recurrent_call(const LeafOperations& leaf, const Flow& flow, std::string_view module);

}  // namespace fxtrace
