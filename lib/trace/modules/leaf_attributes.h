// Leaf attributes: infers the attributes of torch.nn modules from the operations of their calls and the
// shapes of their parameters, because exported programs and archives of torch.jit.trace do not keep
// attributes.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/graph_collection.h"
#include "trace/modules/leaf_module.h"
#include "trace/tracer/program.h"

namespace fxtrace::internal {

using ModuleAttributes = std::vector<std::pair<std::string, Argument>>;

// Returns whether attributes can be inferred for modules of the type.
bool is_told_of(std::string_view type);

// Returns, by module, the attributes of modules of torch.nn and torch.ao.nn.qat under their names there.  An
// attribute is left out when the operations do not determine it, or disagree.  `inplace` and `max_norm` are
// never inferred, because their absence from an operation proves nothing (the operation may be the functional
// variant of another); `training` is inferred only for dropout, which takes no other flag.
//
// Values are as in the module, except where the module has several ways to say the same: sizes are lists with
// a number for each dimension (kernel_size of MaxPool2d(3) is [3, 3], not 3), and padding="same" becomes the
// resulting numbers after run_decompositions().
//
// For a module whose parameters or forward were replaced without updating its attributes, the result
// describes what it computes.
// `sites` are the operations of each module, in program order.
std::vector<ModuleAttributes> attributes_of_modules(const std::vector<ModuleInfo>& modules,
                                                    const std::vector<ParameterRecord>& parameters,
                                                    const std::vector<std::vector<LeafSite>>& sites);

}  // namespace fxtrace::internal
