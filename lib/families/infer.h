// Shape inference: the shapes of an operator's results from those of its arguments, without running it.
#pragma once

#include <optional>
#include <string>

#include "families/shape_rules.h"

namespace fxtrace {

struct Inferred {
  Results results;
  std::string error;  // why torch would raise, if that is certain; all results are then unknown
};

// Applies the operator's rule (shape_rules.h); a pointwise operator without a rule broadcasts its tensors.
// Never throws.  The result of an operator that writes in place has the new sizes; a change of shape
// (unsqueeze_) must be propagated to other aliases by the caller.
Inferred infer_shapes(const RuleArguments& args);

}  // namespace fxtrace
