// Shapes of what an operator gives, from those of what it takes.  Nothing runs.
#pragma once

#include <optional>
#include <string>

#include "families/shape_rules.h"

namespace fxtrace {

struct Inferred {
  Results results;
  std::string error;  // why torch would raise, where that is certain; then all results are unknown
};

// By the rule of the operator (shape_rules.h); what is tagged pointwise and has none broadcasts its tensors.
// Never throws.  What is written in place has the sizes that it gets; that other names of the same tensor see
// a new shape (unsqueeze_) is left to the caller.
Inferred infer_shapes(const RuleArguments& args);

}  // namespace fxtrace
