// Inverses of views: how to compute the new value of a base after a view of it was overwritten.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/effects.h"
#include "graph/graph.h"

namespace fxtrace::internal {

// The non-overlapping windows that unfold() takes along one dimension.
struct Windows {
  std::size_t dim = 0, rank = 0;  // the dimension, and the rank of the base
  Expression length;              // the size of that dimension
  std::int64_t size = 0, step = 1;
};

// The call that computes the new value of the base: target(changed or base, ...).
struct ViewUndo {
  std::string target;        // empty: the new value is the changed view itself
  bool needs_base = false;   // takes the old value of the base in front of the changed view
  bool needs_shape = false;  // takes any value with the sizes of the base behind the changed view
  std::vector<Argument> rest;
  bool skips_list = false;                        // the view is an item of a list of views of the base
  std::optional<Windows> windows = std::nullopt;  // if given, the call is target(base, indices, changed)
};

// Returns nothing when the node is not a view, no operator inverts it, or sizes that the inverse needs are
// unknown.
std::optional<ViewUndo> find_undo(const Graph& graph, Semantics& semantics, NodeId view);
// Returns whether the node is an unfold() whose windows overlap, or may: torch leaves the result of a write
// through such a view undefined.
bool may_overlap(const Graph& graph, Semantics& semantics, NodeId view);

}  // namespace fxtrace::internal
