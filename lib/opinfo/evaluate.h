// Evaluates operators on known arguments: elements of small tensors, numbers, conditions on sizes, lists.
#pragma once

#include <optional>
#include <string_view>

#include "opinfo/rules/shape_rules.h"

namespace fxtrace::internal {

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
