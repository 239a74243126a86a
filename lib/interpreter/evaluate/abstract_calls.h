// What is known of calls that stay one node, and of objects that __setstate__ makes, without recording
// anything.
#pragma once

#include <optional>
#include <string>

#include "costs/cost_log.h"
#include "interpreter/evaluate/evaluator.h"
#include "interpreter/program/packed_tensors.h"

namespace fxtrace::internal::interpreter {

// Abstract interpretation of a call that stays one node (a leaf module, a function that a rule keeps): works
// out what is known of its result and what it costs, without recording anything.
//
// The code of the callee is followed in the state of the run around it, while the recorder writes neither
// nodes nor guards (Recorder::Mode).  Proxies made on the way have no node; they carry what is known of them.
// Where nothing decides an `if`, both branches are followed and the join of their results is taken.
//
// Invariants:
//
// 1. run() leaves the state as it was: the recorder's mode and the cost log are set back, and all changes are
//    undone (Recorder::back_to), however the run ends.
// 2. Some things stay by intent.  What is known of an argument that the callee writes gets less
//    (ShapePropagation::change_known), gradients that writes may have handed on stay noted
//    (RunState::gradient_writes), and so do the calls of submodules (SeenCalls), which tell of the graphs
//    that these get themselves.
// 3. Nothing but what is known of the result leaves the run.  Outcome::value goes to
//    ShapePropagation::note_call() alone, which asks it for aliases.
// 4. A callee that cannot be followed, or does not fit its arguments, is not an error: nothing is known of
//    its result then, and it may have written to its arguments.
// 5. Without shapes (Run::shapes) a callee is run only where it may return None, and only that is taken
//    from it.
//
// Example, with --leaf L --input x=float32[b,4]:
//
//   class L: forward(self, x)            call: x is a proxy that is known to be float32[b,4]
//     y = x + self.w                     w is float32[4] in the file: y is float32[b,4], without a node
//     if bool(y.sum() > 0):              nothing decides it: both branches are followed
//       y = y.relu()                     float32[b,4]
//     return y                           the join of float32[b,4] and float32[b,4]
//
// The graph gets one node, call_module[l](x), with the meta float32[b,4].

class AbstractCalls final : public Evaluator {
 public:
  using Evaluator::Evaluator;

  struct Outcome {
    AbstractValue result;
    std::optional<Cost> cost;  // absent when shapes are unknown
    Value value = {};          // what the code returned, for ShapePropagation::note_call(); None likewise
  };
  // Follows the function abstractly.  `name` is the entry in the cost when it cannot be followed.
  Outcome result_of(Function& function, const Values& arguments, const std::string& name);
  struct Followed {
    Value value;  // its proxies have no nodes
    AbstractValue known;
  };
  // Runs the function abstractly; returns nothing when it cannot be followed.
  std::optional<Followed> run(Function& function, const Values& arguments, CostLog* costs = nullptr);

 private:
  // Notes that a callee with these arguments cannot be followed, and may have written to them.
  void note_unknown_writes(const Values& arguments);
  const IrNode* run_from(const IrBlock& block, const IrNode* node) override;
  Value call_module(const MethodCall& call) override;
  Value attribute(const AttributePlace& place, const TypePtr& type, const IrNode* node) override;
  void set_attribute(const AttributePlace& place, const Value& value, const IrNode* node) override;
  void branch(const IrNode* node, const Value& condition) override;
  void materialize(const Value& container, const IrNode* node) override;
  bool run_both(const IrNode* node);

  std::int64_t nodes_run_ = 0;  // the number of nodes that all runs together have run
};

// Follows __setstate__ of objects symbolically, which gives them the attributes that the archive does not
// store.

class ObjectStates {
 public:
  ObjectStates(const TorchScriptProgram& program, const TraceOptions& options, Budget& budget)
      : run_{program, options, budget} {}
  // Follows object.__setstate__(state).  When it cannot be followed, the attributes stay without values.
  void set(const Ref<ObjectValue>& object, const Value& state);
  // Returns the objects that operators have made of the states so far.
  const MadeObjects& made() const { return evaluator_.made; }

 private:
  class StateEvaluator final : public Evaluator {
   public:
    using Evaluator::Evaluator;
    void call_operator(const IrNode* node, const FunctionSchema& schema, const Values& values) override;
    MadeObjects made;
  };

  Run run_;
  RunState state_{run_};
  Recorder recorder_{state_};
  ShapePropagation propagation_{recorder_};
  StateEvaluator evaluator_{propagation_};
};

}  // namespace fxtrace::internal::interpreter
