// Runs TorchScript code on values that may be proxies: plain values are computed, and the Strategy says what
// becomes of what these do not decide.
#pragma once

#include <string>
#include <unordered_set>

#include "torchscript/evaluate/branches.h"
#include "torchscript/evaluate/calls.h"
#include "torchscript/evaluate/code_runner.h"
#include "torchscript/evaluate/loops.h"
#include "torchscript/evaluate/operator_calls.h"
#include "torchscript/evaluate/process.h"
#include "torchscript/evaluate/value_nodes.h"

namespace fxtrace::torchscript {

class Evaluator final : public CodeRunner {
 public:
  Evaluator(Context& context, Knowledge& knowledge)
      : context_(context),
        knowledge_(knowledge),
        branches_(context, knowledge, *this),
        calls_(context, knowledge, *this),
        loops_(context, knowledge, *this),
        operator_calls_(context, knowledge, *this),
        process_(context, knowledge, *this),
        value_nodes_(context, knowledge, *this) {}

  Values run_graph(const IrGraph& graph, const Values& inputs, const std::string& function) override;
  void run_block(const IrBlock& block, const std::unordered_set<const IrNode*>& left_out) override;
  void run_node(const IrNode* node) override;
  void choose(const IrNode* node, bool branch) override { branches_.choose(node, branch); }
  Value follow(Function& function, const Values& arguments, const IrNode* node) override;

 private:
  Context& context_;
  Knowledge& knowledge_;
  Branches branches_;
  Calls calls_;
  Loops loops_;
  OperatorCalls operator_calls_;
  Process process_;
  ValueNodes value_nodes_;
};

}  // namespace fxtrace::torchscript
