// Names of torch that a user's pattern may mention although no loaded model contains them.
#pragma once

#include <string>
#include <vector>

namespace fxtrace::internal {

// Returns the names of torch's operators, functions and module types, sorted: "aten.add", "aten.add.Tensor",
// "torch.nn.functional.relu", "operator.getitem", "torch.nn.modules.linear.Linear", "torch.nn.Linear".
const std::vector<std::string>& known_names();

}  // namespace fxtrace::internal
