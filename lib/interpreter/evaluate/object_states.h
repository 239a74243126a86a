// Follows __setstate__ of objects symbolically, which gives them the attributes that the archive does not
// store.
#pragma once

#include "interpreter/evaluate/evaluator.h"
#include "interpreter/program/packed_tensors.h"

namespace fxtrace::internal::interpreter {

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
