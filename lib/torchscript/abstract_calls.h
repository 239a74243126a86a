// What a call that stays one gives, as far as that is known, without recording anything.
#pragma once

#include <optional>
#include <string>

#include "costs/cost_log.h"
#include "torchscript/frames.h"

namespace fxtrace::torchscript {

struct Run;

class AbstractCalls {
 public:
  AbstractCalls(Run& run, Frames& frames) : run_(run), frames_(frames) {}

  struct Outcome {
    AbstractValue result;
    std::optional<Cost> cost;  // where shapes are known
  };
  // `name`: of what is called, for what cannot be followed.
  Outcome result_of(Function& function, const Values& arguments, const std::string& name);
  // Its proxies have no nodes; nothing when the function cannot be followed.
  std::optional<Value> run(Function& function, const Values& arguments, CostLog* costs = nullptr);
  // A call of a module inside of such a run: one that cannot be followed gives a value of which nothing is
  // known, as a leaf does.
  Value call_inside(Function& function, const Values& arguments, const IrNode* node);

 private:
  Run& run_;
  Frames& frames_;
};

}  // namespace fxtrace::torchscript
