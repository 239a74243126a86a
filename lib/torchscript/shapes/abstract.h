// LibTorch's values, types and devices as those of lib/shapes, and back.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "shapes/abstract_value.h"
#include "shapes/call.h"

namespace fxtrace {

// Both have TorchScript's numbers.
inline ScalarType own_type(at::ScalarType type) { return static_cast<ScalarType>(type); }
inline at::ScalarType libtorch_type(ScalarType type) { return static_cast<at::ScalarType>(type); }
Device own_device(at::Device device);

// What TensorContent::constant holds here.
std::shared_ptr<const void> content_of(at::Tensor tensor);
at::Tensor tensor_of(const TensorContent& content);  // undefined when there is none

// What is known of any value of the interpreter: a proxy's own; of plain integers, tensors and sequences what
// they are.
AbstractValue known_of_value(const at::IValue& value);

// The tensor's info: of a proxy that is known to be one, or of a tensor of the archive.
std::optional<TensorInfo> find_tensor_info(const at::IValue& value);

// Numbers, strings and the like; unknown for anything else.
AbstractValue literal_value(const at::IValue& value);
// None for what is neither.
at::IValue plain_value(const AbstractValue& value);

// Reads the element of an integer tensor without dimensions that stands in the code; nothing of others.
using ReadConstant = std::function<std::optional<SymInt>(const at::Tensor&)>;

// The interpreter's arguments of a call.
class InterpreterArguments final : public CallArguments {
 public:
  explicit InterpreterArguments(const std::vector<at::IValue>& values, ReadConstant read_constant = {})
      : values_(values), read_constant_(std::move(read_constant)) {}

  std::size_t size() const override { return values_.size(); }
  ValueType type(std::size_t i) const override;
  bool is_literal(std::size_t i) const override;

 private:
  const AbstractValue& value(std::size_t i) const override;

  const std::vector<at::IValue>& values_;
  ReadConstant read_constant_;
  mutable std::vector<std::optional<AbstractValue>> converted_;
};

}  // namespace fxtrace
