// Calls that give back what they are given, told by what is known of their arguments.
#pragma once

#include "passes/support/effects.h"

namespace fxtrace {

// The rule of the operator (operators/identities.h) holds for this call.
bool gives_input(const Graph& graph, const Node& node, const OperatorInfo& info);
// Of an operator that gives its input where that has the type already: it asks for another dtype, or for a
// copy, so that the result has memory of its own.
bool converts(const Graph& graph, const Node& node, const OperatorInfo& info);

}  // namespace fxtrace
