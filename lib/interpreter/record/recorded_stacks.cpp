#include "interpreter/record/recorded_stacks.h"

#include <algorithm>

namespace fxtrace::internal::interpreter {

void RecordedStacks::begin() {
  if (tracer_.rules().has_function_rules()) calls_.emplace(tracer_.rules(), run_.program.modules());
}

void RecordedStacks::fold() {
  if (calls_) tracer_.add_unwrapped_calls(calls_->fold(tracer_.graph_to_rewrite()));
}

// The nodes of a call that is followed have the stacks of the operations within.
void RecordedStacks::note(const IrNode* node, std::size_t first) {
  if (node->kind() != Symbol::kPrimCallMethod) note(first, run_.program.stack(node));
}

void RecordedStacks::note_leaf(const IrNode* node, std::size_t first) {
  constexpr int kMaxNodes = 1000, kMaxDepth = 10;
  const IrGraph* called = called_method(node);
  if (called == nullptr) return;
  int nodes = kMaxNodes;
  note(first, stack_inside(*called, kMaxDepth, nodes));
  run_.budget.spend(static_cast<std::size_t>(kMaxNodes - std::max(nodes, 0)));
}

void RecordedStacks::note(std::size_t first, const std::vector<StackFrame>& stack) {
  if (!(tracer_.ref(NodeId{}).graph == kRootGraph)) return;
  const Graph& graph = tracer_.graph();
  const std::size_t end = graph.mark().ids;
  if (first == end) return;
  constexpr std::size_t kBytesOfUnit = 16;
  for (const StackFrame& frame : stack)
    run_.budget.spend(1 + (frame.file.size() + frame.function.size()) / kBytesOfUnit);
  for (std::size_t i = first; i < end; ++i) {
    const NodeId id{static_cast<std::uint32_t>(i)};
    if (graph.contains(id) && graph.node(id).op != Opcode::kGetAttr) calls_->note(id, stack);
  }
}

// Returns the code of the method that the node calls; null where it has none.
const IrGraph* RecordedStacks::called_method(const IrNode* node) const {
  const Function* method = find_called(*node);
  return method == nullptr ? nullptr : run_.program.archive().find_graph(*method);
}

// Returns the stack of the first operation that has one.  Constants and attributes are passed over, as they
// have the stack of their user.
std::vector<StackFrame> RecordedStacks::stack_inside(const IrGraph& graph, int depth, int& nodes) const {
  for (const IrNode* node : graph.nodes()) {
    if (--nodes < 0 || depth == 0) break;
    if (node->is(Symbol::kPrimConstant) || node->is(Symbol::kPrimGetAttr)) continue;
    std::vector<StackFrame> stack;
    if (node->kind() != Symbol::kPrimCallMethod) {
      stack = run_.program.stack(node);
    } else if (const IrGraph* called = called_method(node)) {
      stack = stack_inside(*called, depth - 1, nodes);
    }
    if (!stack.empty()) return stack;
  }
  return {};
}

}  // namespace fxtrace::internal::interpreter
