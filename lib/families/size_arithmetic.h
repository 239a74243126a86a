// Evaluates queries about tensors of known shape, and arithmetic on the integers that they return.
#pragma once

#include <optional>
#include <string_view>

#include "families/call.h"

namespace fxtrace {

struct Evaluated {
  std::optional<AbstractValue> plain;  // the whole value: nothing has to be recorded
  AbstractValue known;                 // what is known of the recorded result
};

// Evaluates an operator that does not return a tensor: x.size(0), len(chunks), n // 2 > m.  `name` is as
// "aten::len".
Evaluated evaluate_plain(std::string_view name, const CallArguments& values, const ShapeEnv& dimensions);

// The effect of an operator on a list that it changes; nothing for other operators, and when it is unknown.
struct ChangedList {
  AbstractValue::Sequence rest;
  AbstractValue taken;  // element returned by pop()
};
std::optional<ChangedList> changed_list(std::string_view name, const CallArguments& values);

// Evaluates an operator that makes an integer tensor with at most one dimension, and `count` elements, from
// such tensors and sizes; returns its elements, none when they are unknown.
std::vector<SymInt> evaluate_elements(std::string_view name, const CallArguments& values, std::size_t count);

}  // namespace fxtrace
