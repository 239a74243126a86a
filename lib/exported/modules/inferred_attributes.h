// Inference of modules' attributes from the operations of an exported program.
#pragma once

#include <vector>

#include "exported/program/hierarchy.h"
#include "trace/modules/leaf_attributes.h"
#include "trace/modules/program_graph.h"

namespace fxtrace {

// Returns, by module of `hierarchy`, the attributes that leaf_attributes.h infers.
std::vector<ModuleAttributes> attributes_of_modules(const ProgramGraph& graph, const Hierarchy& hierarchy,
                                                    const std::vector<ParameterRecord>& parameters);

}  // namespace fxtrace
