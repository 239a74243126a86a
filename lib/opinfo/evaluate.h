// What operators give for arguments that are known: elements of small tensors, numbers, conditions on sizes,
// lists.
#pragma once

#include <optional>
#include <string_view>

#include "opinfo/rules/shape_rules.h"

namespace fxtrace {

// Applies the operator's value rule (values/value_call.h) to results whose shapes are known; returns them
// with their values.  Nothing when these cannot be told.  Never throws.
std::optional<Results> evaluate(const RuleArguments& args, const Results& shapes);

// The answer to a question about tensors, or of arithmetic on integers.
struct Evaluated {
  std::optional<AbstractValue> plain;  // the whole value: nothing has to be recorded
  AbstractValue known;                 // what is known of the recorded result
};
Evaluated evaluate_plain(const RuleArguments& args);

// The effect of an operator on a list that it changes; nothing for other operators, and when it is unknown.
struct ChangedList {
  AbstractValue::Sequence rest;
  AbstractValue taken;  // element returned by pop()
};
std::optional<ChangedList> changed_list(std::string_view name, const CallArguments& values);

}  // namespace fxtrace
