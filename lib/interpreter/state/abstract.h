// Converts values and types of the interpreter to the abstract values of lib/shapes, and back.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "graph/node.h"
#include "interpreter/program/names.h"
#include "opinfo/call.h"
#include "shapes/abstract_value.h"
#include "torchscript/values/literal_value.h"

namespace fxtrace::internal::interpreter {

// Returns what is known of a value of the interpreter: what a proxy carries, or a plain integer, tensor or
// sequence itself.
AbstractValue known_of_value(const Value& value);

using torchscript::tensor_info;

// Returns the same for a proxy that is known to be a tensor, or for a tensor of the archive; nothing for
// others.
std::optional<TensorInfo> find_tensor_info(const Value& value);

using torchscript::literal_value;
using torchscript::plain_value;

// Returns the Meta of a node whose value has that type.
Meta meta_of(const TypePtr& type, const AbstractValue& known = {});
// Returns the Meta of each tensor that is known to be in the value, in order.
std::vector<Meta> tensors_in(const AbstractValue& known);

// Returns the elements of a tensor that is a constant of the code; null for other tensors.
using ReadConstant = std::function<std::shared_ptr<const Array>(const TensorValue&)>;

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

}  // namespace fxtrace::internal::interpreter
