// Values of the interpreter as abstract values of lib/shapes, and their structure.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/node.h"
#include "interpreter/program/names.h"
#include "opinfo/rules/shape_rules.h"
#include "shapes/abstract_value.h"
#include "torchscript/values/tensor_value.h"

namespace fxtrace::internal::interpreter {

// Converts values and types of the interpreter to the abstract values of lib/shapes, and back.

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

// Treats values of the interpreter as trees of containers with leaves, which branches and loops carry leaf by
// leaf.

// The kind of a leaf, as torch's control flow tells kinds apart.
enum class LeafKind { kTensor, kInt, kFloat, kBool, kOther };
LeafKind leaf_kind(const Type& type);

// Returns whether both are the same object or node, or equal plain values that are immutable.
bool is_same(const Value& first, const Value& second);

// Returns whether the value is a list, a tuple or a dict.
bool has_parts(const Value& value);

// Returns the parts of two lists, tuples or dicts of the same form, pairwise; nothing for other values.
std::optional<std::vector<std::pair<Value, Value>>> matching_parts(const Value& first, const Value& second);
// Returns a new container of the same form with `parts`, in the order of matching_parts().
Value with_parts(const Value& container, std::vector<Value> parts);
// Returns a shallow copy of a list or dict.
Value copy_of(const Value& container);
// Replaces the items of `container` by those of `content`; both are lists or both dicts.
void set_content(const Value& container, const Value& content);
// Returns the value with each leaf replaced by f(leaf), in order.
Value map_leaves(const Value& value, const std::function<Value(const Value&)>& f);

// Describes the kind of a value for messages: "None", "a list of 2", "Tensor".
std::string kind_text(const Value& value);
// Returns the value's name in the code: "`y`"; "a value" when it has none.
std::string name_of(const IrValue* value);

}  // namespace fxtrace::internal::interpreter
