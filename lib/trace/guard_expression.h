// A value of a graph as the Python expression that it came from: x.dim() == 2.
#pragma once

#include <string>

#include "graph/graph.h"
#include "symbolic/expression.h"

namespace fxtrace {

// For guards: over the graph's inputs, with `self` for the model, torch, math, and other modules by their
// names.  What is used twice is bound, (name := ...), where it comes first.  Values go by their nodes' names
// where working them out again may give something else (random numbers, unknown operators), more than
// kMaxGuardDepth operations away from the condition, and where `size` says so.
struct GuardSize {
  int nodes = 60;               // that are written out
  std::size_t elements = 1000;  // of one node's arguments: items of lists, characters of texts
};
Expression guard_expression(const Graph& graph, const Argument& value, GuardSize size = {});
inline constexpr int kMaxGuardDepth = 40;

// For messages: modules' results and attributes by their names, every operator as a method; long ones end in
// "...".
std::string description(const Graph& graph, const Argument& value);

// What decides the value of a node, for messages: "an input"; without one "a parameter" where its elements or
// a call of a module do, "the size of a parameter", or "a tensor that the code makes" where there is neither.
std::string_view what_decides(const Graph& graph, NodeId node);

}  // namespace fxtrace
