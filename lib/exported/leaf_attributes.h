// Attributes of modules of torch.nn, told by the operations that their calls stand for and by the shapes of
// their parameters: an exported program has no attributes of modules.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "exported/hierarchy.h"
#include "exported/program_graph.h"
#include "graph/graph_collection.h"

namespace fxtrace {

using ModuleAttributes = std::vector<std::pair<std::string, Argument>>;

// By module of `hierarchy`: attributes that modules of torch.nn and torch.ao.nn.qat have, by their names
// there.  What the operations do not determine is left out, and so is what two of them tell differently.
// `training`, `inplace` and `max_norm` are never told: an operation that does without them may be the twin of
// another.
//
// Values are the module's, with two exceptions, where the module may say the same in several ways and the
// program has one of them: sizes are lists with a number for each dimension (MaxPool2d(3) has kernel_size 3,
// here it is [3, 3]), and what is padding="same" is the numbers that this comes to once
// run_decompositions() has put them there.
//
// A module whose parameters or forward were exchanged without its attributes being changed is taken for what
// it computes.
std::vector<ModuleAttributes> attributes_of_modules(const ProgramGraph& graph, const Hierarchy& hierarchy,
                                                    const std::vector<ParameterRecord>& parameters);

}  // namespace fxtrace
