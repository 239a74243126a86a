// What values mean: proxies of values that depend on inputs, and integers that stand for dtypes, layouts
// and others.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "interpreter/program/names.h"
#include "interpreter/program/torchscript_archive.h"
#include "shapes/abstract_value.h"
#include "trace/tracer/graph_builder.h"

namespace fxtrace::internal::interpreter {

// Recovers the meaning of integers: TorchScript represents dtypes, layouts and memory formats as integers.
// An operator's schema tells them apart, and so do uses of a value: it comes from x.dtype, or is passed to an
// operator that takes a dtype.

enum class NumberMeaning { kNumber, kDtype, kLayout, kMemoryFormat };

class NumberMeanings {
 public:
  explicit NumberMeanings(const TorchScriptArchive& archive) : archive_(archive) {}

  // Returns the meaning of a function's parameter, by its index in the schema, from its type, name and uses.
  NumberMeaning of_parameter(Function& function, std::size_t index);
  // Returns the meaning of a value from the node that makes it.  Constants are plain numbers: equal ones may
  // be shared.
  NumberMeaning by_source(const IrValue* value);

 private:
  const TorchScriptArchive& archive_;
  NumberMeaning meaning_of(const IrValue* value);
  NumberMeaning by_uses(const IrValue* value);
  NumberMeaning by_use(const IrUse& use);

  std::unordered_map<const IrValue*, NumberMeaning> known_;
};

// Returns the meaning of a formal parameter, or of the elements of a list parameter, from its type and name.
NumberMeaning meaning_of(const FunctionArgument& formal);
// Returns the meaning of an operator's parameter; a number when there is no such parameter.
NumberMeaning meaning_of_parameter(const FunctionSchema& schema, std::size_t index);

// Values of the symbolic interpreter: values of lib/torchscript, with a proxy for any value that depends on
// an input.

using Values = std::vector<Value>;

struct Proxy final : torchscript::Handle {
  Proxy(NodeRef value, TypePtr its_type, NumberMeaning number = NumberMeaning::kNumber)
      : ref(value), static_type(std::move(its_type)), meaning(number) {}
  TypePtr type() const override { return static_type; }

  // The node; invalid for a value without one: within a leaf, or an attribute that __setstate__ would have
  // computed.
  NodeRef ref;
  TypePtr static_type;
  NumberMeaning meaning;  // the meaning of an integer
  // What is known of the value; null when nothing is.  All proxies of a value share it, as lists change and
  // tensors can be reshaped in place (state/tensor_names.h).
  std::shared_ptr<AbstractValue> known;
};

Value make_proxy(NodeRef value, TypePtr type, NumberMeaning meaning = NumberMeaning::kNumber);
Value make_proxy(NodeRef value, TypePtr type, AbstractValue known);

// Makes the proxy share `known` with its other owner.
void share_known(const Value& proxy, std::shared_ptr<AbstractValue> known);

// Returns what is known of the proxy `value`; unknown for any other value.
const AbstractValue& known_of(const Value& value);

// Returns the proxy that `value` is; null for any other value.
const Proxy* find_proxy(const Value& value);

// Returns the current type of the value; for a proxy, the type that it carries.
using torchscript::dynamic_type;

}  // namespace fxtrace::internal::interpreter
