// TorchScript has integers where Python has dtypes, layouts and memory formats.  An operator's schema tells
// them apart, and so does what the code does with a value: it comes from x.dtype, or goes to an operator that
// takes a dtype.
#pragma once

#include <ATen/core/function.h>
#include <torch/csrc/jit/ir/ir.h>

#include <unordered_map>

namespace fxtrace {

enum class NumberMeaning { kNumber, kDtype, kLayout, kMemoryFormat };

class NumberMeanings {
 public:
  // Of a parameter of a function, by its position in the schema: what its type, its name or its uses say.
  NumberMeaning of_parameter(torch::jit::Function& function, std::size_t index);
  // Of a value, by what makes it.  Constants tell nothing: equal ones may be shared.
  NumberMeaning by_source(const torch::jit::Value* value);

 private:
  NumberMeaning of(const torch::jit::Value* value);
  NumberMeaning by_uses(const torch::jit::Value* value);
  NumberMeaning by_use(const torch::jit::Use& use);

  std::unordered_map<const torch::jit::Value*, NumberMeaning> known_;
};

// Of an operator's or a function's formal parameter, or of the elements of a list, as far as its type or name
// tells.
NumberMeaning meaning_of(const c10::Argument& formal);

}  // namespace fxtrace
