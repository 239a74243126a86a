// Questions about tensors of known shape, and arithmetic on the integers that answer them.
#pragma once

#include <optional>
#include <string_view>

#include "families/call.h"

namespace fxtrace {

struct Evaluated {
  std::optional<AbstractValue> plain;  // all of it: nothing has to be recorded
  AbstractValue known;                 // of what is recorded
};

// What an operator that gives no tensor gives: x.size(0), len(chunks), n // 2 > m.  `name` as "aten::len".
Evaluated evaluate_plain(std::string_view name, const CallArguments& values, const ShapeEnv& dimensions);

// What an operator makes of a list that it changes; nothing for other operators, and where that is not known.
struct ChangedList {
  AbstractValue::Sequence rest;
  AbstractValue taken;  // of pop()
};
std::optional<ChangedList> changed_list(std::string_view name, const CallArguments& values);

// The element of an integer tensor without dimensions that is computed from such tensors.
std::optional<SymInt> evaluate_element(std::string_view name, const CallArguments& values);

}  // namespace fxtrace
