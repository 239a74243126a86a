// Answers the questions of lib/shapes about values of the interpreter: plain values, tensors of the archive
// (sizes and dtype only), proxies (symbolic_value.h) and containers of them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "families/evaluate.h"
#include "families/infer.h"
#include "torchscript/state/abstract.h"

namespace fxtrace::torchscript {

Inferred infer_shapes(const FunctionSchema& schema, const std::vector<Value>& values, ShapeEnv& dimensions,
                      const ReadConstant& constant);

std::optional<Pieces> pieces_of(const FunctionSchema& schema, const std::vector<Value>& values,
                                ShapeEnv& dimensions, std::int64_t count);

Evaluated evaluate_plain(const FunctionSchema& schema, const std::vector<Value>& values,
                         ShapeEnv& dimensions);

std::optional<ChangedList> changed_list(const FunctionSchema& schema, const std::vector<Value>& values);

}  // namespace fxtrace::torchscript
