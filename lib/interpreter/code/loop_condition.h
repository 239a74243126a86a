// Recognises `while condition:` in TorchScript's IR, which computes the condition before the loop and again
// at the end of each iteration (loop rotation).  As a function of the loop-carried values the two
// computations are one subgraph.
#pragma once

#include <optional>
#include <unordered_set>
#include <vector>

#include "interpreter/program/names.h"

namespace fxtrace::internal::interpreter {

struct LoopCondition {
  // The nodes of the body, in order, that compute the condition from the body's results and from values
  // around the loop.  They are pure, and so are all nodes between them and after them.
  std::vector<const IrNode*> nodes;
  // Those nodes, in the body and before the loop, that are used for the condition only.
  std::unordered_set<const IrNode*> only_for_condition;
  // The first node of the condition before the loop; all nodes from it to the loop are pure.  Null when there
  // is none.
  const IrNode* start = nullptr;
};

// Returns the condition of the loop; nothing for a counted loop, and when the condition needs other values of
// the body than its results.  Does not check that the two conditions are the same.
std::optional<LoopCondition> find_loop_condition(const IrNode& loop);

}  // namespace fxtrace::internal::interpreter
