// The names that a text of a user may speak of though no model is there to have them.
#pragma once

#include <string>
#include <vector>

namespace fxtrace {

// Returns the operators, functions and types of modules that torch has, sorted: "aten.add",
// "aten.add.Tensor", "torch.nn.functional.relu", "operator.getitem", "torch.nn.modules.linear.Linear",
// "torch.nn.Linear".
const std::vector<std::string>& known_names();

}  // namespace fxtrace
