// Runs the targets of call_function nodes.
#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "operators/target.h"
#include "verify/calls/engine.h"

namespace fxtrace::internal::verify {

// A subgraph among the arguments, which is called with the values of its inputs.
using Body = std::function<RunValue(const std::vector<RunValue>&)>;
using CallOperand = std::variant<RunValue, Body>;

struct FunctionCall {
  std::string target;  // "aten.add.Tensor", "operator.getitem", "higher_order.cond"
  std::vector<CallOperand> args;
  std::vector<std::pair<std::string, RunValue>> kwargs;
  std::optional<std::vector<RunValue>>
      slice;  // for operator.getitem: the parts of a slice, its second argument
};

// Returns whether torch implements the target in Python only: functions of vmap and autocast, which change
// how operators run, and tolist.
bool is_torch_function(const std::string& target);

// Unregisters all operators of LibTorch but those that only compute (operators/names/callable_operators.h),
// and those that libraries have registered.  This also restricts the code of archives, so it has to be called
// before one is loaded.
void keep_callable_operators(const Engine& engine);

// Runs the call.  Throws RunError if LibTorch fails, and CannotRun for a function that LibTorch does not have
// or that does more than compute.
RunValue run_function(const Engine& engine, const FunctionCall& call);

}  // namespace fxtrace::internal::verify
