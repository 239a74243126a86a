// Inference of modules' attributes from the operations of an exported program.
#pragma once

#include <vector>

#include "analysis/program_operations.h"
#include "exported/program/hierarchy.h"
#include "trace/modules/leaf_attributes.h"

namespace fxtrace::internal {

// Returns, by module of `hierarchy`, the attributes that leaf_attributes.h infers.
std::vector<ModuleAttributes> attributes_of_modules(const ProgramView& graph, const Hierarchy& hierarchy,
                                                    const std::vector<ParameterRecord>& parameters);

}  // namespace fxtrace::internal
