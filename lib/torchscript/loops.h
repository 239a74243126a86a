// Loops: followed turn by turn where plain values decide, else a node higher_order.while_loop.
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
  // The node of the block is about to run: where loops begin to work out their conditions is where they are
  // recorded from.
  void note_starts(const IrBlock& block, const IrNode* node);
  // The condition for what a turn hands on.  It is worked out apart from the frame, whose values stay.
  Value condition_after(const IrNode* node, const LoopCondition& condition, const Values& results);

 private:
  std::unordered_map<const IrValue*, Value> values_used_by(const LoopCondition& condition,
                                                           const IrValue& result) const;
  // The loop's condition as one subgraph, where that is what it is; what was recorded of it before the loop
  // is gone then.
  const LoopCondition* rotated_condition(const IrNode* node);
  void record(const IrNode* node);

  std::unordered_map<const IrNode*, std::optional<LoopCondition>> conditions_;
  // By block: loops whose condition begins to be worked out at the node.
  std::unordered_map<const IrBlock*, std::unordered_map<const IrNode*, std::vector<const IrNode*>>> starts_;
  std::int64_t nodes_in_vain_ = 0;  // made by attempts that were taken back
};

}  // namespace fxtrace::torchscript
