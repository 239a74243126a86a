// How a tensor gets the value that it has after a view of it was overwritten.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "passes/support/effects.h"

namespace fxtrace {

// What unfold() takes along one dimension: no element twice.
struct Windows {
  std::size_t dim = 0, rank = 0;  // of the tensor that they are taken from
  Expression length;              // of that dimension
  std::int64_t size = 0, step = 1;
};

// target(changed or base, ...): the new value of what the view was taken from.
struct ViewUndo {
  std::string target;        // empty: the changed value itself
  bool needs_base = false;   // the value before, in front of the changed one
  bool needs_shape = false;  // behind it: any value with the sizes of the base
  std::vector<Argument> rest;
  bool skips_list =
      false;  // the view is an item of a list of views, and the base what the list was taken from
  std::optional<Windows> windows = std::nullopt;  // then it is target(base, indices, changed)
};

// Nothing for a node that is no view, and where no operator undoes it, or sizes that it takes are not known.
std::optional<ViewUndo> find_undo(const Graph& graph, Semantics& semantics, NodeId view);
// Windows of unfold() that have elements in common, or of which that is not known: what a write through them
// does depends on its order, so that torch defines nothing.
bool may_overlap(const Graph& graph, Semantics& semantics, NodeId view);

}  // namespace fxtrace
