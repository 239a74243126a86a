// Applies the shape rules of lib/opinfo to values of the interpreter: plain values, tensors of the archive
// (sizes and dtype only), proxies (symbolic_value.h) and containers of them.  Each function is the one of
// lib/opinfo with that name.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "interpreter/state/abstract.h"
#include "opinfo/evaluate.h"
#include "opinfo/infer.h"

namespace fxtrace::internal::interpreter {

Inferred infer_shapes(const FunctionSchema& schema, const std::vector<Value>& values, ShapeEnv& dimensions,
                      const ReadConstant& constant);

std::optional<Pieces> pieces_of(const FunctionSchema& schema, const std::vector<Value>& values,
                                ShapeEnv& dimensions, std::int64_t count);

Evaluated evaluate_plain(const FunctionSchema& schema, const std::vector<Value>& values,
                         ShapeEnv& dimensions);

std::optional<ChangedList> changed_list(const FunctionSchema& schema, const std::vector<Value>& values);

}  // namespace fxtrace::internal::interpreter
