// Calls of submodules, inlined or kept as leaves, with their hooks; and functions that rules keep as calls.
#pragma once

#include <functional>
#include <optional>
#include <unordered_set>

#include "torchscript/interpreter/record/assignments.h"
#include "torchscript/interpreter/record/recorded_stacks.h"
#include "torchscript/interpreter/strategies/abstract_calls.h"

namespace fxtrace::interpreter {

class GraphCalls : RecordingPart {
 public:
  GraphCalls(const RecordingPart& around, AbstractCalls& abstract_calls, Assignments& assignments,
             RecordedStacks& stacks)
      : RecordingPart(around), abstract_calls_(abstract_calls), assignments_(assignments), stacks_(stacks) {}

  // See Strategy.
  bool make_object(const IrNode* node, const Values& values);
  Value call_module(const MethodCall& call);
  Value call_function(Function& function, const Values& values, const IrNode* node);
  // Runs the module call that begins with the hook at `first`, if any, with its hooks inside the call, so
  // that their nodes and uses belong to the module.  Returns the last node of the call; null when `first`
  // begins no such call, or when the hooks are not run here (leaves, skipped hooks).
  const IrNode* run_hooked(const IrNode* first);
  // Runs the root's method, with the module's hooks if hooks run.
  Value run_root(Function& function, Values arguments);

 private:
  Value call_forward(ModuleId module, Function& forward, Values arguments, const IrNode* node);
  // The result of a call that is kept as one node.
  Value result_of(NodeId call, const TypePtr& type, AbstractCalls::Outcome outcome, const Values& arguments);
  // As the call of the module that is entered: the nodes that it takes and gives are noted under their names.
  Value follow_and_note(Function& function, const Values& arguments, const IrNode* node);
  GraphTracer::CallNodes inputs_of(Function& function, const Values& arguments);
  void name_results(const Value& result, GraphTracer::CallNodes& nodes);
  bool inline_module(ModuleId module, const std::function<void()>& body);
  // Returns what a call of a hook stands for that is left out; nothing for other calls.
  std::optional<Value> skip_hook(Function& function, const Values& arguments, const IrNode* node) const;

  AbstractCalls& abstract_calls_;
  Assignments& assignments_;
  RecordedStacks& stacks_;
  std::unordered_set<const IrNode*> open_calls_;  // calls of forward that a hook has begun
};

}  // namespace fxtrace::interpreter
