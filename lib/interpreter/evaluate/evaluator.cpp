#include "interpreter/evaluate/evaluator.h"

#include "interpreter/evaluate/strategy.h"
#include "interpreter/program/convert.h"
#include "trace/tracer/trace_failure.h"

namespace fxtrace::interpreter {
namespace {

// Returns the function's graph.  Code that cannot be compiled fails the module that runs it, and not the
// file.
const IrGraph& code_of(Function& function, const TorchScriptProgram& program) {
  try {
    return function.graph();
  } catch (const Error& error) {
    Failure failure;
    std::string why = error.what();
    if (const auto* in_source = dynamic_cast<const torchscript::SourceError*>(&error)) {
      why = in_source->message();
      failure.source = program.location(in_source->where(), std::string(function.name()));
    }
    failure.message = "its code cannot be compiled: " + readable_message(why);
    if (!failure.source && !error.place().empty()) failure.message += " (" + error.place() + ")";
    throw TraceFailure(std::move(failure));
  }
}

}  // namespace

Values Evaluator::run_graph(const IrGraph& graph, const Values& inputs, const std::string& function,
                            const IrNode* call) {
  Frames& frames = context_.frames;
  const auto& formals = graph.inputs();
  Activation activation{function};
  const std::size_t first = call != nullptr && call->is(Symbol::kPrimCallFunction) ? 1 : 0;
  for (std::size_t i = 0; call != nullptr && i < formals.size() && first + i < call->inputs().size(); ++i) {
    if (frames.is_constant(call->input(first + i))) activation.constants.insert(formals[i]);
  }
  frames.push(std::move(activation));
  for (std::size_t i = 0; i < formals.size() && i < inputs.size(); ++i) frames.set(formals[i], inputs[i]);
  run_block(*graph.block(), {});
  Values result = frames.outputs(*graph.block());
  const bool gives_constant = call != nullptr && frames.are_constants(graph.outputs());
  frames.pop();
  if (gives_constant) frames.note_constant(call->output());
  return result;
}

void Evaluator::run_block(const IrBlock& block, const std::unordered_set<const IrNode*>& left_out) {
  for (const IrNode* node = *block.nodes().begin(); node != block.return_node(); node = node->next()) {
    if (!left_out.contains(node)) node = context_.strategy->run(block, node);
  }
}

void Evaluator::run_node(const IrNode* node) {
  Frames& frames = context_.frames;
  context_.budget.spend(1);
  switch (node->kind()) {
    case Symbol::kPrimConstant: {
      Value constant = context_.program.archive().value_of(*node->constant());
      if (constant.is_function()) return;
      if (constant.is_tensor()) propagation_.constants.read(constant.to_tensor());
      return frames.set(node, std::move(constant));
    }
    case Symbol::kPrimIf:
      return branches_.run(node);
    case Symbol::kPrimLoop:
      return loops_.run(node);
    case Symbol::kPrimRaiseException:
      return branches_.raise(node);
    case Symbol::kPrimCallMethod:
      return calls_.call_method(node);
    case Symbol::kPrimCallFunction:
      return calls_.call_function(node);
    case Symbol::kPrimEnter:
      return process_state_.enter_or_exit(node, true);
    case Symbol::kPrimExit:
      return process_state_.enter_or_exit(node, false);
    case Symbol::kPrimFork:
    case Symbol::kPrimAwaitable: {
      // Nothing runs concurrently here: the result of the body stands for the future.
      const Values result = run_graph(*node->subgraph(), frames.inputs(node), frames.top().function);
      return frames.set(node, result.empty() ? Value() : result[0]);
    }
    case Symbol::kPrimPrint:
    case Symbol::kAtenWarn:
      return;  // no effect on any value
    default:
      if (!value_nodes_.run(node) && !process_state_.answer_query(node)) operator_calls_.run(node);
  }
}

Value Evaluator::follow(Function& function, const Values& arguments, const IrNode* node) {
  if (!function.has_code()) {
    context_.frames.refuse("a call of " + function.qualified_name() + ", which has no code", node);
  }
  if (static_cast<std::int64_t>(context_.frames.size()) >= context_.options.limits.call_depth) {
    context_.frames.fail(FailureKind::kLimit,
                         "calls nested more than " + std::to_string(context_.options.limits.call_depth) +
                             " deep (--max-call-depth)",
                         node, Limit::kCallDepth);
  }
  if (node != nullptr) context_.count_step(node);
  if (const auto* call = context_.program.archive().find_not_followed(function)) {
    Failure failure;
    failure.kind = FailureKind::kUnsupportedOp;
    failure.message = call->why;
    failure.op = call->operator_name;
    failure.source = context_.program.location(call->call, std::string(function.name()));
    throw TraceFailure(std::move(failure));
  }
  const bool is_call =
      node != nullptr && (node->is(Symbol::kPrimCallMethod) || node->is(Symbol::kPrimCallFunction));
  const Values results = run_graph(code_of(function, context_.program), arguments,
                                   std::string(function.name()), is_call ? node : nullptr);
  return results.empty() ? Value() : results[0];
}

}  // namespace fxtrace::interpreter
