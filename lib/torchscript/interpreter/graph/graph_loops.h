// Loops that depend on inputs: nodes higher_order.while_loop.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "torchscript/interpreter/code/loop_condition.h"
#include "torchscript/interpreter/graph/subgraphs.h"

namespace fxtrace::interpreter {

class GraphLoops : RecordingPart {
 public:
  GraphLoops(const RecordingPart& around, Subgraphs& subgraphs)
      : RecordingPart(around), subgraphs_(subgraphs) {}

  // To be called before each node of a block.  When loops begin to compute their conditions at it, saves the
  // state: the loops are recorded from there.
  void note_starts(const IrBlock& block, const IrNode* node);
  void record(const IrNode* node);

 private:
  // Returns the loop's condition when its two copies are the same, so that one subgraph can stand for both,
  // and rolls back what was recorded of it before the loop; else null.
  const LoopCondition* rotated_condition(const IrNode* node);

  Subgraphs& subgraphs_;
  std::unordered_map<const IrNode*, std::optional<LoopCondition>> conditions_;
  // By block and node: the loops whose condition begins at the node.
  std::unordered_map<const IrBlock*, std::unordered_map<const IrNode*, std::vector<const IrNode*>>> starts_;
  std::int64_t nodes_in_vain_ = 0;  // made by attempts that were rolled back
};

}  // namespace fxtrace::interpreter
