// Records calls of submodules, inlined or as leaves, with their hooks, and functions that rules keep as one
// call.
#pragma once

#include <functional>
#include <optional>
#include <unordered_set>

#include "interpreter/evaluate/abstract_calls.h"
#include "interpreter/graph/assignments.h"
#include "interpreter/graph/subgraphs.h"
#include "interpreter/record/recorder.h"

namespace fxtrace::internal::interpreter {

class GraphCalls : RecordingPart {
 public:
  GraphCalls(const EvaluatorPart& around, AbstractCalls& abstract_calls, Assignments& assignments,
             Subgraphs& subgraphs, RecordedStacks& stacks)
      : RecordingPart(around),
        abstract_calls_(abstract_calls),
        assignments_(assignments),
        subgraphs_(subgraphs),
        stacks_(stacks) {}

  // See the functions of Evaluator.
  bool make_object(const IrNode* node, const Values& values);
  Value call_module(const MethodCall& call);
  Value call_function(Function& function, const Values& values, const IrNode* node);
  // Runs the module call that begins with the hook at `first`, if any, with its hooks inside the call, so
  // that their nodes and uses belong to the module.  Returns the last node of the call; null when `first`
  // does not begin such a call, or when the hooks are not run here (leaves, skipped hooks).
  const IrNode* run_hooked(const IrNode* first);
  // Runs the root's method, with the module's hooks if hooks run.
  Value run_root(Function& function, Values arguments);

 private:
  Value call_forward(ModuleId module, Function& forward, Values arguments, const IrNode* node);
  // Returns the lists and dicts among the arguments that the first function, or the hooks behind it, may
  // change, keep or give back.
  Values find_lent(const std::vector<Function*>& functions, const Values& arguments);
  // Throws TraceFailure when the model, or the code around a branch or loop, holds one of them.
  void check_lent(const std::string& callee, const Values& lent, const IrNode* node);
  // Ends the use of these in the code that follows.
  void give_away(const std::string& callee, const Values& lent);
  // Returns the result of a call that is one node.
  Value result_of(NodeId call, const TypePtr& type, AbstractCalls::Outcome outcome, const Values& arguments);
  // Follows the call of the module that is entered, and notes the nodes of its arguments and results by name.
  Value follow_and_note(Function& function, const Values& arguments, const IrNode* node);
  GraphTracer::CallNodes inputs_of(Function& function, const Values& arguments);
  void name_results(const Value& result, GraphTracer::CallNodes& nodes);
  // Runs `body` as a call of the module.  Returns false when that failed and was undone: the module is a leaf
  // then.
  bool inline_module(ModuleId module, const std::function<void()>& body);
  // Returns the value in the place of a hook's call that is left out; nothing for other calls.
  std::optional<Value> skip_hook(Function& function, const Values& arguments, const IrNode* node) const;

  AbstractCalls& abstract_calls_;
  Assignments& assignments_;
  Subgraphs& subgraphs_;
  RecordedStacks& stacks_;
  std::unordered_set<const IrNode*> open_calls_;  // calls of forward that a hook has begun
};

}  // namespace fxtrace::internal::interpreter
