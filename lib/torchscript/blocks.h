// Runs the nodes of a graph; each is dispatched to the part that handles its kind.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "torchscript/part.h"

namespace fxtrace::torchscript {

class Blocks : Part {
 public:
  using Part::Part;

  // Runs the graph in a new activation, which is left on the stack when the run fails.
  Values run_graph(const IrGraph& graph, const Values& inputs, const std::string& function);
  void run_block(const IrBlock& block, const std::unordered_set<const IrNode*>& left_out = {});
  void run_node(const IrNode* node);

 private:
  std::int64_t abstract_nodes_ = 0;  // total of nodes run in Mode::kAbstract
};

}  // namespace fxtrace::torchscript
