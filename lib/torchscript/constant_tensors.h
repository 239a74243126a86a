// Small tensors that no data goes into: those of the code, and what operators make of them.
#pragma once

#include <memory>
#include <optional>
#include <unordered_set>
#include <vector>

#include "operators/operators.h"
#include "shapes/abstract_value.h"
#include "torchscript/torchscript_program.h"
#include "torchscript/value.h"

namespace fxtrace::torchscript {

class ConstantTensors {
 public:
  explicit ConstantTensors(const TorchScriptProgram& program) : program_(program) {}

  // A tensor that stands in the code.
  void read(const TensorValue& tensor);
  // A recorded operator changes the tensor.
  void note_write(const TensorValue& tensor) { written_.insert(&tensor); }
  // No parameter, and not written to.
  bool is_as_in_code(const TensorValue& tensor) const;
  // With its elements, where they are known; null for others.
  TensorRef find(const Value& value) const;
  // What the operator gives for tensors that are known in numbers, or for none at all.
  std::optional<Values> compute(const FunctionSchema& schema, Traits traits, const Values& values) const;
  // Adds to what is known of an operator's results what is in them.
  void add_contents(const FunctionSchema& schema, Traits traits, const Values& values,
                    std::vector<AbstractValue>& results) const;
  // A tensor is written to of which more is known than its shape: who else sees that memory is not known.
  void forget_contents();

 private:
  bool is_known(const TensorValue& tensor) const {
    return in_code_.contains(&tensor) && is_as_in_code(tensor);
  }

  const TorchScriptProgram& program_;
  std::unordered_set<const TensorValue*> in_code_;
  std::unordered_set<const TensorValue*> written_;
  std::shared_ptr<bool> contents_valid_ = std::make_shared<bool>(true);
};

}  // namespace fxtrace::torchscript
