// Follows __setstate__ of objects symbolically, which gives them the attributes that the archive does not
// store.
#pragma once

#include "interpreter/evaluate/evaluator.h"
#include "interpreter/program/packed_tensors.h"
#include "interpreter/strategies/basic_strategy.h"

namespace fxtrace::interpreter {

class ObjectStates {
 public:
  ObjectStates(const TorchScriptProgram& program, const TraceOptions& options, Budget& budget);
  // Follows object.__setstate__(state).  When it cannot be followed, the attributes stay without values.
  void set(const Ref<ObjectValue>& object, const Value& state);
  // Returns the objects that operators have made of the states so far.
  const MadeObjects& made() const { return strategy_.made; }

 private:
  class StateStrategy final : public BasicStrategy {
   public:
    using BasicStrategy::BasicStrategy;
    void call_operator(const IrNode* node, const FunctionSchema& schema, const Values& values) override;
    MadeObjects made;
  };

  Context context_;
  ShapePropagation propagation_{context_};
  Evaluator evaluator_{context_, propagation_};
  NoRecorder recorder_;
  StateStrategy strategy_{context_, propagation_, evaluator_};
};

}  // namespace fxtrace::interpreter
