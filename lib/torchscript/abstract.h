// Converts values and types of TorchScript to those of lib/shapes, and back.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "families/call.h"
#include "graph/node.h"
#include "shapes/abstract_value.h"
#include "torchscript/names.h"

namespace fxtrace::torchscript {

// Wraps a tensor for TensorContent::constant; tensor_of() is the inverse.
std::shared_ptr<const void> content_of(TensorRef tensor);
TensorRef tensor_of(const TensorContent& content);  // null when there is none

// Returns what is known of a value of the interpreter: of a proxy what it carries, of a plain integer, tensor
// or sequence the value itself.
AbstractValue known_of_value(const Value& value);

// Returns the shape and dtype of a tensor of the archive; nothing when TensorInfo cannot express its layout.
std::optional<TensorInfo> tensor_info(const TensorValue& tensor);
// Returns the same for a proxy that is known to be a tensor, or for a tensor of the archive; nothing for
// others.
std::optional<TensorInfo> find_tensor_info(const Value& value);

// Converts numbers, strings and the like; gives unknown for anything else.
AbstractValue literal_value(const Value& value);
// Converts back a number or string that is known; gives None for anything else.
Value plain_value(const AbstractValue& value);

// Returns the Meta of a node whose value has that type.
Meta meta_of(const TypePtr& type, const AbstractValue& known = {});
// Returns the Meta of each tensor that is known to be in the value, in order.
std::vector<Meta> tensors_in(const AbstractValue& known);

// Reads the elements of a tensor that is a constant of the code, as TensorContent has them; returns none for
// other tensors.
using ReadConstant = std::function<std::vector<SymInt>(const TensorValue&)>;

// The arguments of a call, given as values of the interpreter.
class InterpreterArguments final : public CallArguments {
 public:
  explicit InterpreterArguments(const std::vector<Value>& values, ReadConstant read_constant = {})
      : values_(values), read_constant_(std::move(read_constant)) {}

  std::size_t size() const override { return values_.size(); }
  ValueType type(std::size_t i) const override;
  bool is_literal(std::size_t i) const override;

 private:
  const AbstractValue& value(std::size_t i) const override;

  const std::vector<Value>& values_;
  ReadConstant read_constant_;
  mutable std::vector<std::optional<AbstractValue>> converted_;
};

}  // namespace fxtrace::torchscript
