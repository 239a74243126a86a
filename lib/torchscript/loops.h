// Loops: unrolled when plain values determine the number of iterations, else a node higher_order.while_loop.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "torchscript/loop_condition.h"
#include "torchscript/part.h"

namespace fxtrace::torchscript {

class Loops : Part {
 public:
  using Part::Part;

  void run(const IrNode* node);
  // To be called before each node of a block.  When loops begin to compute their conditions at it, saves the
  // state: the loops are recorded from there.
  void note_starts(const IrBlock& block, const IrNode* node);
  // Computes the condition for the results of an iteration, without changing the values of the frame.
  Value condition_after(const IrNode* node, const LoopCondition& condition, const Values& results);

 private:
  std::unordered_map<const IrValue*, Value> values_used_by(const LoopCondition& condition,
                                                           const IrValue& result) const;
  // Returns the loop's condition when its two copies are the same, so that one subgraph can stand for both,
  // and rolls back what was recorded of it before the loop; else null.
  const LoopCondition* rotated_condition(const IrNode* node);
  void record(const IrNode* node);

  std::unordered_map<const IrNode*, std::optional<LoopCondition>> conditions_;
  // By block and node: the loops whose condition begins at the node.
  std::unordered_map<const IrBlock*, std::unordered_map<const IrNode*, std::vector<const IrNode*>>> starts_;
  std::int64_t nodes_in_vain_ = 0;  // made by attempts that were rolled back
};

}  // namespace fxtrace::torchscript
