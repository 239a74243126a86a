// Writes values of a graph as Python expressions: x.dim() == 2 for a guard, and a shorter form for messages.
//
// While a front end records a graph, it decides conditions, such as the `if` of a method, for the inputs at
// hand.  Each decision becomes a guard: a condition that a caller of the graph can check before the call. The
// graph has the condition only as a node, so guard_expression() walks back from that node to the inputs and
// writes one expression.
//
// 1. Inputs are written by name, and attributes as paths from `self`.  Operators are methods of tensors where
//    torch has them as such (traits::kTensorMethod), else torch.ops.NAMESPACE.NAME.OVERLOAD.
// 2. An operator is written out only if it is pure, or has a pure twin, which is then written in its place
//    (add for add_), so that evaluating the guard writes to no tensor and draws no random number.
// 3. The call of any other operator is written as its node's name.  So is a node more than kMaxGuardDepth
//    operations away from the condition, one past the first GuardSize::nodes, and one whose arguments have
//    more than GuardSize::elements elements.  The size of the text is therefore bounded.
// 4. A value that is used twice is written out once: its first use becomes (name := ...), later uses `name`.
//    The walk goes twice over the graph: the first pass only finds out which values are repeated.
// 5. x.dim() is asked of the earliest value that surely has the same number of dimensions, and becomes a
//    number where a reshape, view or expand lists the sizes.  Guards that mean the same read the same.
// 6. `over_inputs` is true only if no value was written by its node's name because of 3., and neither an
//    attribute nor a module is part of the expression.
// 7. The result is parsed again from its text, so that it is equal to the expression that a reader gets.  A
//    text that the parser keeps verbatim is not replaced.
//
// Example, where %n is asked for as a condition:
//
//   %x = placeholder[x]()
//   %y = call_function[aten.relu.default](%x)
//   %d = call_function[aten.dim.default](%y)
//   %n = call_function[operator.eq](%d, 3)
//
// operator.eq is a comparison, whose left operand is %d.  aten.dim asks for the rank of %y; relu keeps the
// rank of its argument, so the question goes on to %x (5.), which is an input (1.): x.dim() == 3.
// `over_inputs` becomes true.  An operand that draws random numbers would be written by its node's name (3.),
// and `over_inputs` would be false.
#pragma once

#include <string>

#include "graph/graph.h"
#include "symbolic/expression.h"

namespace fxtrace::internal {

// The limits of one guard's text.
struct GuardSize {
  int nodes = 60;               // the number of nodes that are written out
  std::size_t elements = 1000;  // of one node's arguments: items of lists and characters of texts
};
// Returns the value over the graph's inputs, with `self` for the model, and torch, math and other Python
// modules by their names.  `over_inputs`, if not null, is set as in 6.
Expression guard_expression(const Graph& graph, const Argument& value, GuardSize size = {},
                            bool* over_inputs = nullptr);
inline constexpr int kMaxGuardDepth = 40;
// Returns the length of a list in the same way: a number where the graph itself tells it, x.dim() for
// len(x.size()).
Expression length_expression(const Graph& graph, NodeId list, GuardSize size = {},
                             bool* over_inputs = nullptr);

// Returns a short form of the value for messages: results of modules and attributes by name, and every
// operator as a method.  Long texts are cut.
std::string description(const Graph& graph, const Argument& value);

// Returns words for what the value of a node depends on, for messages.  The first of these that applies: "an
// input", "an attribute that changes", "a parameter" (its elements, or a call of a module), "the size of a
// parameter", "a tensor that the code makes".
std::string_view what_decides(const Graph& graph, NodeId node);

}  // namespace fxtrace::internal
