// Questions about tensors of known shape, and arithmetic on the integers that answer them.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <functional>
#include <optional>
#include <vector>

#include "torchscript/shapes/known.h"

namespace fxtrace {

// What is known of any value of the interpreter: a proxy's own; of plain integers, tensors and sequences what
// they are.
Known known_of_value(const at::IValue& value);

// The tensor's info: of a proxy that is known to be one, or of a tensor of the archive.
std::optional<TensorInfo> find_tensor_info(const at::IValue& value);

struct Evaluated {
  std::optional<at::IValue> plain;  // nothing has to be recorded
  Known known;                      // of what is recorded
};

// What an operator that gives no tensor gives: x.size(0), len(chunks), n // 2 > m.
Evaluated evaluate_plain(const c10::FunctionSchema& schema, const std::vector<at::IValue>& values,
                         const Dimensions& dimensions);

// What an operator makes of a list that it changes; nothing for other operators, and where that is not known.
struct ChangedList {
  Known::Sequence rest;
  Known taken;  // of pop()
};
std::optional<ChangedList> changed_list(const c10::FunctionSchema& schema,
                                        const std::vector<at::IValue>& values);

// The element of an integer tensor without dimensions that is computed from such tensors.  `constant` reads
// one that stands in the code; nothing for other tensors.
using ReadConstant = std::function<std::optional<SymInt>(const at::Tensor&)>;
std::optional<SymInt> evaluate_element(const c10::FunctionSchema& schema,
                                       const std::vector<at::IValue>& values, const ReadConstant& constant);

}  // namespace fxtrace
