// Works out the result of a call that is kept as one node, as far as it is known, without recording anything.
#pragma once

#include <optional>
#include <string>

#include "costs/cost_log.h"
#include "torchscript/interpreter/strategies/abstract_strategy.h"

namespace fxtrace::interpreter {

class AbstractCalls : EvaluatorPart {
 public:
  // `outer` records the calls.
  AbstractCalls(Context& context, ShapePropagation& propagation, CodeRunner& code, const Recorder& outer)
      : EvaluatorPart(context, propagation, code), strategy_(context, propagation, code, outer) {}

  struct Outcome {
    AbstractValue result;
    std::optional<Cost> cost;  // absent when shapes are unknown
    Value value = {};          // what the code returned, for ShapePropagation::note_call(); likewise
  };
  // Follows the function abstractly.  `name` is what the cost lists when it cannot be followed.
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
