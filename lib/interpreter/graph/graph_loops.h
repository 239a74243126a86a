// Loops that depend on inputs, as nodes higher_order.while_loop: finds the loop's condition, and repeats
// RecordedLoop::record() until its fixed point.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "interpreter/code/loop_condition.h"
#include "interpreter/graph/subgraphs.h"

namespace fxtrace::internal::interpreter {

class GraphLoops : RecordingPart {
 public:
  GraphLoops(const EvaluatorPart& around, Subgraphs& subgraphs)
      : RecordingPart(around), subgraphs_(subgraphs) {}

  // To be called before each node of a block.  When loops begin to compute their conditions at the node,
  // saves the state: the loops are recorded from there.
  void note_starts(const IrBlock& block, const IrNode* node);
  // Records the loop, and sets its results.
  void record(const IrNode* node);

 private:
  // Returns the loop's condition when its two copies, before the loop and at the end of the body, are the
  // same, so that one subgraph can stand for both; rolls back the copy that was recorded before the loop.
  // Returns null when they differ.
  const LoopCondition* rotated_condition(const IrNode* node);

  Subgraphs& subgraphs_;
  std::unordered_map<const IrNode*, std::optional<LoopCondition>> conditions_;
  // The loops whose conditions begin at a node, by block and node.
  std::unordered_map<const IrBlock*, std::unordered_map<const IrNode*, std::vector<const IrNode*>>> starts_;
  std::int64_t nodes_in_vain_ = 0;  // the number of nodes of attempts that were rolled back
};

}  // namespace fxtrace::internal::interpreter
