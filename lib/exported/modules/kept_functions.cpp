#include "exported/modules/kept_functions.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "exported/modules/local_sizes.h"
#include "exported/program/stack_trace.h"
#include "operators/operators.h"
#include "opinfo/operator_entry.h"
#include "symbolic/affine.h"

namespace fxtrace::internal {
namespace {

// Returns whether all tensors that the operation writes to are such that operations of the call have made in
// memory of their own.
bool writes_own(const ProgramView& graph, NodeId operation,
                const std::unordered_map<std::uint32_t, NodeId>& makers) {
  bool writes = false, is_own = true;
  for_each_handed_on(graph, operation, [&](NodeId, NodeId argument) {
    writes = true;
    const auto maker = makers.find(argument.index);
    const Operator* op = maker == makers.end() ? nullptr : graph.facts(maker->second).op;
    is_own = is_own && maker != makers.end() &&
             ((op != nullptr && entry_of(*op).aliases.empty()) || writes_own(graph, maker->second, makers));
  });
  return writes && is_own;
}

// Returns whether the number can be computed from sizes of these tensors.
bool follows_from(const Meta& number, const std::vector<NodeId>& tensors, const ProgramView& graph) {
  const SymInt* size = number.value ? number.value->size() : nullptr;
  std::vector<SymInt> known;
  for (const NodeId value : tensors) {
    for (const Expression& dim : graph.meta(value).shape.value_or(std::vector<Expression>())) {
      if (dim.size() != nullptr) known.push_back(*dim.size());
    }
  }
  return size != nullptr && find_source(*size, known).has_value();
}

}  // namespace

bool KeptFunctions::is_of_torch(CallId call) const {
  return program_.modules()[program_.hierarchy().calls()[call].module.index].type.starts_with("torch.");
}

std::size_t KeptFunctions::forwards(CallId call) const {
  std::size_t count = 1;  // the root's
  for (; call != kRootCall; call = program_.hierarchy().calls()[call].parent)
    count += is_of_torch(call) ? 0 : 1;
  return count;
}

std::vector<StackFrame> KeptFunctions::stack_of(const ProgramView& graph, NodeId operation) {
  std::vector<StackFrame> stack = frames(graph.facts(operation).stack_trace.view());
  // An operator with a subgraph but without a trace has the frames of the subgraph's operations.
  graph.for_each_subgraph(operation, [&](const std::string&, const ProgramView& body) {
    if (!stack.empty()) return;
    for (const NodeId inner : body.operations()) {
      stack = stack_of(body, inner);
      if (!stack.empty()) break;
    }
  });
  has_seen_strict_ = has_seen_strict_ ||
                     std::ranges::any_of(stack, [](const StackFrame& frame) { return frame.column >= 0; });
  // Frames around the model, and of what torch has made of the program later, are left out.
  std::erase_if(stack, [](const StackFrame& frame) {
    return frame.file.starts_with("<eval_with_key>") ||
           frame.file.ends_with("torch/_dynamo/functional_export.py") ||
           frame.file.ends_with("torch/fx/passes/runtime_assert.py");
  });
  has_seen_function_ = has_seen_function_ || std::ranges::any_of(stack, [](const StackFrame& frame) {
                         return frame.function != "forward";
                       });
  return stack;
}

std::vector<KeptCall> KeptFunctions::find_calls(const ProgramView& graph,
                                                const std::vector<std::uint32_t>& uses,
                                                const std::function<CallId(NodeId)>& leaf_of,
                                                const std::function<bool(NodeId)>& is_own) {
  using enum RecordedFunctions::StepKind;
  const std::vector<NodeId> operations = graph.operations();
  std::vector<RecordedFunctions::Place> places(operations.size());
  std::vector<RecordedFunctions::Step> steps(operations.size());
  std::unordered_map<std::uint32_t, std::size_t> makers;  // by value: the operation
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const NodeId operation = operations[i];
    const Node& node = graph.node(operation);
    const ProgramNode& facts = graph.facts(operation);
    RecordedFunctions::Step& step = steps[i];
    step.target = *node.target;
    step.module_call = facts.call;
    step.constants = constants_of(node, has_trait(facts.op, traits::kPointwise));
    const std::vector<StackFrame> stack = stack_of(graph, operation);
    if (facts.has_stack && !stack.empty()) {
      places[i] = functions_.place_in_export(stack);
      step.place = &places[i];
    }
    const CallId leaf = facts.has_stack ? leaf_of(operation) : kRootCall;
    if (leaf != kRootCall) {
      step.kind = kModule;
      // Functions that a leaf calls are not kept.
      if (places[i].forwards > forwards(program_.hierarchy().calls()[leaf].parent))
        places[i].function.clear();
      places[i].is_of_module = true;
    } else if (graph.count_subgraphs(operation) > 0) {
      step.kind = kRegion;
    } else if (effect_of(graph, operation) == Effect::kSymbolic) {
      step.kind = kNumber;
    } else {
      places[i].is_of_module = places[i].is_of_module || is_of_torch(facts.call);
    }
    for_each_input(node, [&](NodeId value) {
      if (const auto maker = makers.find(value.index); maker != makers.end())
        step.uses.push_back(maker->second);
    });
    graph.for_each_result(operation, [&](NodeId value) { makers.emplace(value.index, i); });
    if (step.kind != kOperation || effect_of(graph, operation) != Effect::kWrites) continue;
    std::unordered_map<std::uint32_t, NodeId> of_call;
    for_each_input(node, [&](NodeId value) {
      for (auto maker = makers.find(value.index); maker != makers.end();) {
        if (places[maker->second].key != places[i].key ||
            !of_call.emplace(value.index, operations[maker->second]).second)
          break;
        for_each_handed_on(graph, operations[maker->second],
                           [&](NodeId, NodeId argument) { value = argument; });
        maker = makers.find(value.index);
      }
    });
    if (!writes_own(graph, operation, of_call)) step.kind = kWrite;
  }

  std::vector<KeptCall> calls;
  for (const RecordedFunctions::Call& found : functions_.find_calls(steps, followed_)) {
    KeptCall call{found.place->function, found.place->caller, {}, {}};
    for (const std::size_t step : found.steps) call.operations.push_back(operations[step]);
    call.boundary = boundary_of(graph, call.operations, uses, is_own);
    const auto meta = [&](NodeId value) -> const Meta& { return graph.meta(value); };
    const auto gives_number = [&](NodeId value) { return is_size(meta(value)); };
    if (std::ranges::any_of(call.boundary.leaving, gives_number)) {
      followed_.add(*found.place, {"a number that it computes is used outside of it"});
      continue;
    }
    if (call.boundary.leaving.empty()) continue;  // nobody uses it
    const std::vector<NodeId> entering = call.boundary.entering;
    std::erase_if(call.boundary.entering, [&](NodeId value) {
      return is_size(meta(value)) && follows_from(meta(value), entering, graph);
    });
    calls.push_back(std::move(call));
  }
  return calls;
}

}  // namespace fxtrace::internal
