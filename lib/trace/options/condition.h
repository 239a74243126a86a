// Conditions of a graph: recognises equivalent ones, so that a decision about one holds for all, and reads
// the integers that they compare.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "graph/graph.h"
#include "symbolic/shape_env.h"

namespace fxtrace::internal {

// A graph, with the number by which its dimensions are named.
struct NumberedGraph {
  const Graph& graph;
  std::uint32_t number = 0;           // distinguishes its values from those of other graphs
  mutable std::size_t looked_at = 0;  // number of users of tensors visited by all functions: their work
};

// Returns a key that equivalent conditions of one graph share, however they are written (`n > 0`, `0 < n`).
// Flips `opposite` when the key is that of the negation (`n <= 0`, `not n > 0`).  Values that may have
// changed in between never share a key.
std::string condition_key(const NumberedGraph& graph, NodeId condition, bool& opposite);

// Returns true when no node of the graph writes to a tensor that `value` is computed from, or to an alias of
// one; false when that is not known.
bool is_unwritten(const NumberedGraph& graph, NodeId value);

// Returns whether `value` depends on state that changes, in this run or before the next: elements of a tensor
// that a node writes to, or plain attributes that are assigned.  Sizes, dtypes and devices do not count as
// elements.
bool reads_state(const NumberedGraph& graph, NodeId value);

// Returns an integer as far as the code determines it without input shapes: sums and products of other
// integers, ranks, and sizes of tensors that were made with given sizes.  A part that the code does not
// determine becomes a symbolic dimension of its own, the same one wherever the same question is asked; those
// that are not sizes are declared in `dimensions`.  Absent when `value` is not an integer.
std::optional<SymInt> integer_of(const NumberedGraph& graph, const Argument& value, ShapeEnv& dimensions);

struct Comparison {
  Relation relation = Relation::kEqual;
  SymInt left, right;
};
// Returns the two integers that `condition` compares, and how; absent when it compares something else.
std::optional<Comparison> comparison_of(const NumberedGraph& graph, NodeId condition, ShapeEnv& dimensions);

}  // namespace fxtrace::internal
