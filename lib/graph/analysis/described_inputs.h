// What an option that describes the inputs (--input) would add to a collection, for advice that can be typed.
#pragma once

#include <string>

#include "graph/graph_collection.h"

namespace fxtrace::internal {

// Returns whether the sizes of a tensor among the inputs, or the value of an integer, are not known.
bool lacks_sizes(const Graph& graph);

// Returns an option that gives a size of an input this name: "--input 'x=float32[batch,3]'", with "..." for
// sizes that are not known.  Empty where no input takes names, as those of an exported program do not.
std::string option_to_name_a_size(const GraphCollection& collection, const std::string& name);

}  // namespace fxtrace::internal
