// Works out the result of a call that is kept as one node, as far as it is known, without recording anything.
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
    std::optional<Cost> cost;  // absent when shapes are unknown
    Value value = {};          // what the code returned, for Knowledge::note_call(); likewise
  };
  // Follows the function abstractly.  `name` is what the cost lists when it cannot be followed.
  Outcome result_of(Function& function, const Values& arguments, const std::string& name);
  struct Followed {
    Value value;  // its proxies have no nodes
    AbstractValue known;
  };
  // Runs the function abstractly; returns nothing when it cannot be followed.
  std::optional<Followed> run(Function& function, const Values& arguments, CostLog* costs = nullptr);
  // Runs a call of a module within run(); one that cannot be followed returns an unknown value, as a leaf
  // does.
  Value call_inside(Function& function, const Values& arguments, const IrNode* node);

 private:
  void note_writes(const Values& arguments);
};

}  // namespace fxtrace::torchscript
