// The questions of lib/shapes, asked of the interpreter's values: plain ones, tensors of the archive (sizes
// and dtype only), proxies (value.h) and containers of them.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <optional>
#include <vector>

#include "shapes/infer.h"
#include "shapes/size_arithmetic.h"
#include "torchscript/shapes/abstract.h"

namespace fxtrace {

Inferred infer_shapes(const c10::FunctionSchema& schema, const std::vector<at::IValue>& values,
                      ShapeEnv& dimensions);

Evaluated evaluate_plain(const c10::FunctionSchema& schema, const std::vector<at::IValue>& values,
                         const ShapeEnv& dimensions);

std::optional<ChangedList> changed_list(const c10::FunctionSchema& schema,
                                        const std::vector<at::IValue>& values);

std::optional<SymInt> evaluate_element(const c10::FunctionSchema& schema,
                                       const std::vector<at::IValue>& values, const ReadConstant& constant);

}  // namespace fxtrace
