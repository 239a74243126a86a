// How a tensor gets the value that it has after a view of it was overwritten.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "passes/effects.h"

namespace fxtrace {

// target(changed or base, ...): the new value of what the view was taken from.
struct ViewUndo {
  std::string target;        // empty: the changed value itself
  bool needs_base = false;   // the value before, in front of the changed one
  bool needs_shape = false;  // behind it: any value with the sizes of the base
  std::vector<Argument> rest;
  bool skips_list =
      false;  // the view is an item of a list of views, and the base what the list was taken from
};

// Nothing for a node that is no view, and where no operator undoes it, or sizes that it takes are not known.
std::optional<ViewUndo> find_undo(const Graph& graph, Semantics& semantics, NodeId view);

}  // namespace fxtrace
