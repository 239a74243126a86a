// What a call that stays one gives, as far as that is known, without recording anything.
#pragma once

#include <optional>
#include <string>

#include "costs/cost_log.h"
#include "torchscript/part.h"

namespace fxtrace::torchscript {

class AbstractCalls : Part {
 public:
  using Part::Part;

  struct Outcome {
    AbstractValue result;
    std::optional<Cost> cost;  // where shapes are known
    Value value = {};          // what the code gave, likewise: for Knowledge::note_call()
  };
  // `name`: of what is called, for what cannot be followed.
  Outcome result_of(Function& function, const Values& arguments, const std::string& name);
  struct Followed {
    Value value;  // its proxies have no nodes
    AbstractValue known;
  };
  // Nothing when the function cannot be followed.
  std::optional<Followed> run(Function& function, const Values& arguments, CostLog* costs = nullptr);
  // A call of a module inside of such a run: one that cannot be followed gives a value of which nothing is
  // known, as a leaf does.
  Value call_inside(Function& function, const Values& arguments, const IrNode* node);

 private:
};

}  // namespace fxtrace::torchscript
