// Shape inference: computes the shapes of an operator's results from those of its arguments, without running
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "opinfo/rules/shape_rules.h"

namespace fxtrace::internal {

struct Inferred {
  Results results;
  std::string
      error;  // the reason for which torch would surely raise; empty: none.  If set, all results are unknown
};

// Applies the operator's rule (shape_rules.h); a pointwise operator without a rule broadcasts its tensors.
// Never throws.  The result of an in-place operator has the new sizes; the caller must propagate a change of
// shape (unsqueeze_) to other aliases.  If no argument requires a gradient, neither does the result, in any
// mode of autograd; otherwise requires_grad of the result is unknown.
Inferred infer_shapes(const RuleArguments& args);

// The result of unbind, split or chunk under the assumption that it has `count` tensors, which is so if and
// only if `condition` holds.
struct Pieces {
  Condition condition;
  AbstractValue pieces;
};
// Returns nothing for other operators, and when too little is known.
std::optional<Pieces> pieces_of(const RuleArguments& args, std::int64_t count);

// Returns whether no result of the operator, "aten::detach", carries a gradient.
bool stops_gradients(std::string_view name);
// Returns whether a tensor of the value may require a gradient: true also where nothing is known.
bool may_require_grad(const AbstractValue& value);
// The same for an argument; false for a value that neither is a tensor nor contains one.
bool may_require_grad(const CallArguments& values, std::size_t i);

// Evaluates operators on known arguments: elements of small tensors, numbers, conditions on sizes, lists.

// Applies the operator's value rule (values/value_call.h) to results whose shapes are known, and returns the
// results with their values; nothing when the values are unknown.  Never throws.
std::optional<Results> evaluate(const RuleArguments& args, const Results& shapes);

// The result of a query about tensors, or of arithmetic on integers.
struct Evaluated {
  std::optional<AbstractValue> plain;  // the value, if it is fully known: no node is needed
  AbstractValue known;                 // the abstract value of the result, which needs a node
};
Evaluated evaluate_plain(const RuleArguments& args);

// The effect of an operator on a list that it changes; nothing for other operators, and when it is unknown.
struct ChangedList {
  AbstractValue::Sequence rest;
  AbstractValue taken;  // the element that pop() returns
};
std::optional<ChangedList> changed_list(std::string_view name, const CallArguments& values);

}  // namespace fxtrace::internal
