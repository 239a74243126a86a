// Runs TorchScript code on values that may be proxies: operations on plain values are computed, and all
// others go to the Strategy.
#pragma once

#include <string>
#include <unordered_set>

#include "interpreter/evaluate/branches.h"
#include "interpreter/evaluate/calls.h"
#include "interpreter/evaluate/code_runner.h"
#include "interpreter/evaluate/loops.h"
#include "interpreter/evaluate/operator_calls.h"
#include "interpreter/evaluate/process_state.h"
#include "interpreter/evaluate/value_nodes.h"

namespace fxtrace::interpreter {

class Evaluator final : public CodeRunner {
 public:
  Evaluator(Context& context, ShapePropagation& propagation)
      : context_(context),
        propagation_(propagation),
        branches_(context, propagation, *this),
        calls_(context, propagation, *this),
        loops_(context, propagation, *this),
        operator_calls_(context, propagation, *this),
        process_state_(context, propagation, *this),
        value_nodes_(context, propagation, *this) {}

  // Runs the graph in a new activation, which is left on the stack when the run fails.  `call` is the node of
  // its call; null when the caller's constants are none in the graph.
  Values run_graph(const IrGraph& graph, const Values& inputs, const std::string& function,
                   const IrNode* call = nullptr);
  void run_block(const IrBlock& block, const std::unordered_set<const IrNode*>& left_out) override;
  void run_node(const IrNode* node) override;
  void choose(const IrNode* node, bool branch) override { branches_.choose(node, branch); }
  Value follow(Function& function, const Values& arguments, const IrNode* node) override;

 private:
  Context& context_;
  ShapePropagation& propagation_;
  Branches branches_;
  Calls calls_;
  Loops loops_;
  OperatorCalls operator_calls_;
  ProcessState process_state_;
  ValueNodes value_nodes_;
};

}  // namespace fxtrace::interpreter
