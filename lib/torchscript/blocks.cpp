#include "torchscript/blocks.h"

#include "torchscript/run.h"

namespace fxtrace::torchscript {
namespace {

constexpr std::int64_t kMaxAbstractNodes = 2'000'000;

}  // namespace

Values Blocks::run_graph(const IrGraph& graph, const Values& inputs, const std::string& function) {
  frames_.push({function});
  const auto& formals = graph.inputs();
  for (std::size_t i = 0; i < formals.size() && i < inputs.size(); ++i) frames_.set(formals[i], inputs[i]);
  run_block(*graph.block());
  Values result = frames_.outputs(*graph.block());
  frames_.pop();
  return result;
}

void Blocks::run_block(const IrBlock& block, const std::unordered_set<const IrNode*>& left_out) {
  for (const IrNode* node = *block.nodes().begin(); node != block.return_node(); node = node->next()) {
    if (left_out.contains(node)) continue;
    if (run_.makes_subgraphs()) run_.loops.note_starts(block, node);
    if (const IrNode* last = run_.calls.run_hooked(node)) {
      node = last;
    } else if (run_.stacks.are_kept()) {
      const std::size_t first = run_.tracer->graph().mark().ids;
      run_node(node);
      run_.stacks.note(node, first);
    } else {
      run_node(node);
    }
  }
}

void Blocks::run_node(const IrNode* node) {
  run_.budget.spend(1);
  // Branches that may both be taken multiply: leaves beyond this have no known shapes.
  if (run_.mode == Mode::kAbstract && ++abstract_nodes_ > kMaxAbstractNodes) {
    frames_.fail(FailureKind::kLimit, "shapes of leaves take too many steps", node);
  }
  switch (node->kind()) {
    case Symbol::kPrimConstant: {
      Value constant = run_.program.archive().value_of(*node->constant());
      if (constant.is_function()) return;
      if (constant.is_tensor()) run_.constants.read(constant.to_tensor());
      return frames_.set(node, std::move(constant));
    }
    case Symbol::kPrimIf:
      return run_.branches.run(node);
    case Symbol::kPrimLoop:
      return run_.loops.run(node);
    case Symbol::kPrimRaiseException:
      return run_.branches.raise(node);
    case Symbol::kPrimCallMethod:
      return run_.calls.call_method(node);
    case Symbol::kPrimCallFunction:
      return run_.calls.call_function(node);
    case Symbol::kPrimEnter:
      return run_.process.enter_or_exit(node, true);
    case Symbol::kPrimExit:
      return run_.process.enter_or_exit(node, false);
    case Symbol::kPrimFork:
    case Symbol::kPrimAwaitable: {
      // Nothing runs at the same time here: the result of the body stands for the future.
      const Values result = run_graph(*node->subgraph(), frames_.inputs(node), frames_.top().function);
      return frames_.set(node, result.empty() ? Value() : result[0]);
    }
    case Symbol::kPrimPrint:
    case Symbol::kAtenWarn:
      return;  // no effect on any value
    default:
      if (!run_.value_nodes.run(node) && !run_.process.ask(node)) run_.operator_calls.run(node);
  }
}

}  // namespace fxtrace::torchscript
