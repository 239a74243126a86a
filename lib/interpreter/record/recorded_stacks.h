// Tracks the Python stack under which torch.jit.trace recorded the operation of each node, for rules that
// keep Python functions as one call.
#pragma once

#include <optional>
#include <vector>

#include "interpreter/state/run.h"
#include "trace/modules/recorded_calls.h"
#include "trace/tracer/graph_tracer.h"

namespace fxtrace::internal::interpreter {

class RecordedStacks {
 public:
  RecordedStacks(const Run& run, GraphTracer& tracer) : run_(run), tracer_(tracer) {}

  // Begins a graph; stacks are kept only if there are such rules.
  void begin();
  bool are_kept() const { return calls_.has_value(); }
  // Notes the stack of `node` for the nodes of the graph from `first` on, which it recorded; nothing for a
  // call of a method.
  void note(const IrNode* node, std::size_t first);
  // Notes for the nodes from `first` on, which are the call of a leaf, the stack of an operation within the
  // leaf.
  void note_leaf(const IrNode* node, std::size_t first);
  // Folds each call of a kept function in the finished graph into one node.
  void fold();

 private:
  void note(std::size_t first, const std::vector<StackFrame>& stack);
  const IrGraph* called_method(const IrNode* node) const;
  std::vector<StackFrame> stack_inside(const IrGraph& graph, int depth, int& nodes) const;

  const Run& run_;
  GraphTracer& tracer_;
  std::optional<RecordedCalls> calls_;
};

}  // namespace fxtrace::internal::interpreter
