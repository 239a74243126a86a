// Tells conditions apart, so that what is known of one is known of all that ask the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "graph/graph.h"
#include "symbolic/shape_env.h"

namespace fxtrace {

// Conditions of one graph that have the same key have the same value: they compare the same numbers in the
// same way, in whatever spelling (`n > 0`, `0 < n`).  `opposite` is turned round when the key is that of the
// opposite
// (`n <= 0`, `not n > 0`).  Values that may have changed in between never have the same key.
std::string condition_key(const Graph& graph, NodeId condition, bool& opposite);

// Whether nothing that stands in the graph writes a tensor that the value is made of, or one that shares
// memory with such a tensor.  False where that cannot be told.
bool is_unwritten(const Graph& graph, NodeId value);

// What the code says of an integer, without any size being known: sums and products of others, ranks and
// sizes of tensors that were made with given sizes.  What it does not say is a dimension by itself, the same
// for all that ask the same; `dimensions` learns of those that are no sizes.  Absent for what is no integer.
struct NumberedGraph {
  const Graph& graph;
  std::uint32_t number = 0;  // tells its values from those of other graphs
};
std::optional<SymInt> integer_of(const NumberedGraph& graph, const Argument& value, ShapeEnv& dimensions);

struct Comparison {
  Relation relation = Relation::kEqual;
  SymInt left, right;
};
// Absent for conditions that compare no integers.
std::optional<Comparison> comparison_of(const NumberedGraph& graph, NodeId condition, ShapeEnv& dimensions);

}  // namespace fxtrace
