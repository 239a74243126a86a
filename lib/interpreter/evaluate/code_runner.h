// Interface by which parts of the interpreter run the blocks, nodes and functions within the nodes that they
// handle.
#pragma once

#include <string>
#include <unordered_set>

#include "interpreter/program/symbolic_value.h"

namespace fxtrace::interpreter {

class CodeRunner {
 public:
  virtual ~CodeRunner() = default;
  // Runs the nodes of the block, without those left out, in the innermost activation.
  virtual void run_block(const IrBlock& block, const std::unordered_set<const IrNode*>& left_out = {}) = 0;
  virtual void run_node(const IrNode* node) = 0;
  // Takes one branch of the `if`.
  virtual void choose(const IrNode* node, bool branch) = 0;
  // Runs the function's code; `node` is the call, null when the code has none.
  virtual Value follow(Function& function, const Values& arguments, const IrNode* node) = 0;
};

}  // namespace fxtrace::interpreter
