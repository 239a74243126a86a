#include "torchscript/recorded_stacks.h"

#include <algorithm>

namespace fxtrace::torchscript {

void RecordedStacks::begin() {
  if (context_.tracer->rules().has_function_rules())
    calls_.emplace(context_.tracer->rules(), context_.program.modules());
}

void RecordedStacks::fold() {
  if (!calls_) return;
  for (std::string& message : calls_->fold(context_.tracer->finished_graph()))
    context_.tracer->misfit(std::move(message));
}

// The operations of a call that is followed have told of themselves already.
void RecordedStacks::note(const IrNode* node, std::size_t first) {
  if (!(context_.tracer->ref(NodeId{}).graph == kRootGraph)) return;
  const Graph& graph = context_.tracer->graph();
  const bool is_call = node->kind() == Symbol::kPrimCallMethod;
  const std::size_t end = graph.mark().ids;
  std::vector<StackFrame> stack;
  for (std::size_t i = first; i < end; ++i) {
    const NodeId id{static_cast<std::uint32_t>(i)};
    if (!graph.contains(id) || graph.node(id).op == Opcode::kGetAttr) continue;
    if (is_call && graph.node(id).op != Opcode::kCallModule) return;
    if (stack.empty()) {
      constexpr int kMaxNodes = 1000, kMaxDepth = 10;
      int nodes = kMaxNodes;
      if (!is_call) {
        stack = context_.program.stack(node);
      } else if (const IrGraph* called = called_method(node)) {
        stack = stack_inside(*called, kMaxDepth, nodes);
        context_.budget.spend(static_cast<std::size_t>(kMaxNodes - std::max(nodes, 0)));
      }
      constexpr std::size_t kBytesOfUnit = 16;
      for (const StackFrame& frame : stack) {
        context_.budget.spend(1 + (frame.file.size() + frame.function.size()) / kBytesOfUnit);
      }
    }
    calls_->note(id, stack);
  }
}

// The code of the method that the node calls; null where it has none.
const IrGraph* RecordedStacks::called_method(const IrNode* node) const {
  const auto* type = node->input(0)->type()->as<ClassType>();
  const Function* method = type == nullptr ? nullptr : type->find_method(node->text());
  return method == nullptr ? nullptr : context_.program.archive().find_graph(*method);
}

// Of the first operation that has one.
std::vector<StackFrame> RecordedStacks::stack_inside(const IrGraph& graph, int depth, int& nodes) const {
  for (const IrNode* node : graph.nodes()) {
    if (--nodes < 0 || depth == 0) break;
    std::vector<StackFrame> stack;
    if (node->kind() != Symbol::kPrimCallMethod) {
      stack = context_.program.stack(node);
    } else if (const IrGraph* called = called_method(node)) {
      stack = stack_inside(*called, depth - 1, nodes);
    }
    if (!stack.empty()) return stack;
  }
  return {};
}

}  // namespace fxtrace::torchscript
