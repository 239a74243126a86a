// Shapes of what an operator gives, from those of what it takes.  No kernel runs on data.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <string>
#include <vector>

#include "torchscript/shapes/known.h"

namespace fxtrace {

struct Inferred {
  std::vector<Known> results;  // one for each result of the schema; unknown where nothing tells
  std::string error;           // why torch would raise, where that is certain; then all results are unknown
};

// `values` are those of the interpreter:
// plain, tensors of the archive (sizes and dtype only), proxies (value.h) and containers of them.  In this
// order:
// - the operator's own kernel for meta tensors, where every size is a number;
// - own rules (rules.h);
// - what LibTorch composes of other operators, on meta tensors too: so many calls come after one rule;
// - LibTorch's JIT shape functions.  Last because the first use of their registry takes 200 ms.
// Never throws.  What is written in place has the sizes that it gets; that other names of the same tensor see
// a new shape (unsqueeze_) is left to the caller.
Inferred infer_shapes(const c10::FunctionSchema& schema, const std::vector<at::IValue>& values,
                      Dimensions& dimensions);

}  // namespace fxtrace
