// Finds the outputs of module calls from the uses of values.
#pragma once

#include <vector>

#include "exported/hierarchy.h"
#include "exported/program_graph.h"

namespace fxtrace {

// Returns, by call, the values that it makes and that are used outside it, in order of definition.
std::vector<std::vector<ValueId>> outputs_of_calls(const ProgramGraph& graph, const Hierarchy& hierarchy);

}  // namespace fxtrace
