// Abstract interpretation of a call that stays one node (a leaf module, a function that a rule keeps): works
// out what is known of its result and what it costs, without recording anything.
//
// The code of the callee is followed by the same evaluator as that of the graph, with another Strategy
// (AbstractStrategy) and another Recorder (LeafRecorder), which writes neither nodes nor guards.  Proxies
// made on the way have no node; they carry what is known of them.  Where nothing decides an `if`, both
// branches are followed and the join of their results is taken.
//
// Invariants:
//
// 1. run() leaves the context as it was: recorder, strategy and cost log are set back, and all changes are
//    undone (Context::back_to), however the run ends.
// 2. Some things stay by intent.  What is known of an argument that the callee writes gets less
//    (ShapePropagation::change_known), gradients that writes may have handed on stay noted
//    (Context::gradient_writes), and so do the calls of submodules (SeenCalls), which tell of the graphs that
//    these get themselves.
// 3. Nothing but what is known of the result leaves the run.  Outcome::value goes to
//    ShapePropagation::note_call() alone, which asks it for aliases.
// 4. A callee that cannot be followed, or does not fit its arguments, is not an error: nothing is known of
//    its result then, and it may have written to its arguments.
// 5. Without shapes (Context::shapes) a callee is run only where it may return None, and only that is taken
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
#pragma once

#include <optional>
#include <string>

#include "costs/cost_log.h"
#include "interpreter/strategies/abstract_strategy.h"

namespace fxtrace::interpreter {

class AbstractCalls : EvaluatorPart {
 public:
  // `outer` is the recorder of the graph that the calls belong to.
  AbstractCalls(Context& context, ShapePropagation& propagation, CodeRunner& code, const Recorder& outer)
      : EvaluatorPart(context, propagation, code), strategy_(context, propagation, code, outer) {}

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
  AbstractStrategy strategy_;
};

}  // namespace fxtrace::interpreter
