// `while condition:` as TorchScript's IR has it: the condition is worked out before the loop, and again at
// the end of each turn.  As a function of what the turns hand on, it is one subgraph.
#pragma once

#include <optional>
#include <unordered_set>
#include <vector>

#include "torchscript/names.h"

namespace fxtrace::torchscript {

struct LoopCondition {
  // Of the body, in order: what works the condition out from the body's results and from values around the
  // loop.  Pure, and so is all that follows in the body.
  std::vector<const IrNode*> nodes;
  // Those, and the nodes before the loop, that only the condition needs.
  std::unordered_set<const IrNode*> only_for_condition;
  // Where the condition before the loop begins to be worked out; all from here to the loop is pure.  Null
  // when nothing there is.
  const IrNode* start = nullptr;
};

// Nothing for a loop of a counted length, and where the condition needs more than the body's results. Whether
// the two conditions are the same is not looked at.
std::optional<LoopCondition> find_loop_condition(const IrNode& loop);

}  // namespace fxtrace::torchscript
