// Values of a graph as the Python expressions that they came from: x.dim() == 2.
#pragma once

#include <string>

#include "graph/graph.h"
#include "symbolic/expression.h"

namespace fxtrace {

// guard_expression() writes a value for a guard: over the graph's inputs, with `self` for the model, torch,
// math, and other Python modules by their names.  A value that is used twice is bound at its first use, (name
// := ...).  A value is written as its node's name where computing it again may give another result (random
// numbers, unknown operators), more than kMaxGuardDepth operations away from the condition, and beyond the
// limits of `size`.  `over_inputs` gets whether all is over inputs: no value is written so, and no parameter
// and no module is asked.
struct GuardSize {
  int nodes = 60;               // written out
  std::size_t elements = 1000;  // of one node's arguments: items of lists, characters of texts
};
Expression guard_expression(const Graph& graph, const Argument& value, GuardSize size = {},
                            bool* over_inputs = nullptr);
inline constexpr int kMaxGuardDepth = 40;

// Returns the value in words for messages: results of modules and attributes by name, every operator as a
// method; long texts are cut.
std::string description(const Graph& graph, const Argument& value);

// Names what the value of a node depends on, for messages: "an input"; else "a parameter" (its elements, or a
// call of a module), "the size of a parameter", or else "a tensor that the code makes".
std::string_view what_decides(const Graph& graph, NodeId node);

}  // namespace fxtrace
