// What module calls give, told from who uses which value.
#pragma once

#include <vector>

#include "exported/hierarchy.h"
#include "exported/program_graph.h"

namespace fxtrace {

// By call: the values that it makes and that are used outside of it, in the order in which they are made.
std::vector<std::vector<ValueId>> outputs_of_calls(const ProgramGraph& graph, const Hierarchy& hierarchy);

}  // namespace fxtrace
