// Recognises `while condition:` in TorchScript's IR, which computes the condition before the loop and again
// at the end of each iteration (loop rotation).  As a function of the carried values, both are one subgraph.
#pragma once

#include <optional>
#include <unordered_set>
#include <vector>

#include "torchscript/interpreter/program/names.h"

namespace fxtrace::interpreter {

struct LoopCondition {
  // The nodes of the body, in order, that compute the condition from the body's results and from values
  // around the loop.  They are pure, and so is all that follows in the body.
  std::vector<const IrNode*> nodes;
  // The nodes, of those and of the ones before the loop, that only the condition needs.
  std::unordered_set<const IrNode*> only_for_condition;
  // The first node of the condition before the loop; all nodes from it to the loop are pure.  Null when there
  // is none.
  const IrNode* start = nullptr;
};

// Returns nothing for a counted loop, and when the condition needs more than the body's results.  Does not
// check that the two conditions are the same.
std::optional<LoopCondition> find_loop_condition(const IrNode& loop);

}  // namespace fxtrace::interpreter
