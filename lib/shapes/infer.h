// Shapes of what an operator gives, from those of what it takes.  No kernel runs on data.
#pragma once

#include <optional>
#include <string>

#include "shapes/rules.h"

namespace fxtrace {

struct Inferred {
  Results results;
  std::string error;  // why torch would raise, where that is certain; then all results are unknown
};

// What can be told of a call without a rule, by who has torch's own kernels at hand.  Every one of these may
// throw CannotTell, Raises or any std::exception.
class Kernels {
 public:
  virtual ~Kernels() = default;

  // Of the operator's own, or of those that it is composed of: the call on tensors without data.
  virtual bool has_meta_kernel() const { return false; }
  virtual bool is_composite() const { return false; }
  // Nothing where not every size is a number.
  virtual std::optional<Results> run_on_meta() { return std::nullopt; }
  // What else there is that tells shapes.
  virtual Results run_shape_function() { throw CannotTell{}; }
};

// In this order:
// - the operator's own kernel for meta tensors, where every size is a number;
// - own rules (rules.h);
// - what is composed of other operators, on meta tensors too: so many calls come after one rule;
// - other shape functions.
// Never throws.  What is written in place has the sizes that it gets; that other names of the same tensor see
// a new shape (unsqueeze_) is left to the caller.
Inferred infer_shapes(const RuleArguments& args, Kernels& kernels);
Inferred infer_shapes(const RuleArguments& args);  // by rules alone

}  // namespace fxtrace
