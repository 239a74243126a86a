// Runs the nodes of a graph, each by the part that knows its kind.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "torchscript/frames.h"

namespace fxtrace::torchscript {

struct Run;

class Blocks {
 public:
  Blocks(Run& run, Frames& frames) : run_(run), frames_(frames) {}

  // In an activation of its own, which stays where that fails.
  Values run_graph(const IrGraph& graph, const Values& inputs, const std::string& function,
                   const std::vector<bool>& is_concrete = {});
  void run_block(const IrBlock& block, const std::unordered_set<const IrNode*>& left_out = {});
  void run_node(const IrNode* node);

 private:
  Run& run_;
  Frames& frames_;
  std::int64_t abstract_nodes_ = 0;  // run in Mode::kAbstract, all together
};

}  // namespace fxtrace::torchscript
