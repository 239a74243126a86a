// Shape inference: the shapes of an operator's results from those of its arguments, without running it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "opinfo/rules/shape_rules.h"

namespace fxtrace {

struct Inferred {
  Results results;
  std::string error;  // why torch would raise, if that is certain; all results are then unknown
};

// Applies the operator's rule (shape_rules.h); a pointwise operator without a rule broadcasts its tensors.
// Never throws.  The result of an operator that writes in place has the new sizes; a change of shape
// (unsqueeze_) must be propagated to other aliases by the caller.
// A result whose arguments carry no gradient does not require one, as in any mode of autograd; of others
// nothing is said.
Inferred infer_shapes(const RuleArguments& args);

// What unbind, split and chunk give if they give `count` tensors, which is so exactly where the condition
// holds.  Nothing for other operators, and where too little is known.
struct Pieces {
  Condition condition;
  AbstractValue pieces;
};
std::optional<Pieces> pieces_of(const RuleArguments& args, std::int64_t count);

// Returns whether no result of the operator, "aten::detach", carries a gradient.
bool stops_gradients(std::string_view name);
// Returns whether a tensor of the value may require a gradient: true also where nothing is known.
bool may_require_grad(const AbstractValue& value);
// The same for an argument; false for what is no tensor and holds none.
bool may_require_grad(const CallArguments& values, std::size_t i);

}  // namespace fxtrace
