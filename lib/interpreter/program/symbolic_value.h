// Values of the symbolic interpreter: values of lib/torchscript, with a proxy for any value that depends on
// an input.
#pragma once

#include <memory>
#include <vector>

#include "interpreter/code/number_meanings.h"
#include "interpreter/program/names.h"
#include "shapes/abstract_value.h"
#include "trace/tracer/graph_builder.h"

namespace fxtrace::internal::interpreter {

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
