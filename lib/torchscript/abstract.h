// Values and types of TorchScript as those of lib/shapes, and back.
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

// What TensorContent::constant holds here.
std::shared_ptr<const void> content_of(TensorRef tensor);
TensorRef tensor_of(const TensorContent& content);  // null when there is none

// What is known of any value of the interpreter: a proxy's own; of plain integers, tensors and sequences what
// they are.
AbstractValue known_of_value(const Value& value);

// Of a tensor of the archive; nothing of one with another layout than it can say.
std::optional<TensorInfo> tensor_info(const TensorValue& tensor);
// The tensor's info: of a proxy that is known to be one, or of a tensor of the archive.
std::optional<TensorInfo> find_tensor_info(const Value& value);

// Numbers, strings and the like; unknown for anything else.
AbstractValue literal_value(const Value& value);
// None for what is neither.
Value plain_value(const AbstractValue& value);

// Of a node whose value has that type.
Meta meta_of(const TypePtr& type, const AbstractValue& known = {});
// Of each tensor that is known to be in the value, in order.
std::vector<Meta> tensors_in(const AbstractValue& known);

// Reads the element of an integer tensor without dimensions that stands in the code; nothing of others.
using ReadConstant = std::function<std::optional<SymInt>(const TensorValue&)>;

// The interpreter's arguments of a call.
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
