// Recognizes calls that return their input, from their arguments and the known shapes and dtypes.
#pragma once

#include "analysis/effects.h"

namespace fxtrace::internal {

// Returns whether the operator's rule (opinfo/identities.h) holds for this call.
bool gives_input(const Graph& graph, const Node& node, const OperatorEntry& info);
// Returns whether a conversion operator makes new memory: it asks for another dtype, or for a copy.
bool converts(const Graph& graph, const Node& node, const OperatorEntry& info);

}  // namespace fxtrace::internal
