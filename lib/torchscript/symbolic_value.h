// Values of the symbolic interpreter: those of lib/script, in which a proxy may stand for any value that
// depends on an input.
#pragma once

#include <memory>
#include <vector>

#include "shapes/abstract_value.h"
#include "torchscript/names.h"
#include "torchscript/number_meanings.h"
#include "trace/graph_builder.h"

namespace fxtrace::torchscript {

using Values = std::vector<Value>;

struct Proxy final : script::Handle {
  Proxy(NodeRef value, TypePtr its_type, NumberMeaning number = NumberMeaning::kNumber)
      : ref(value), static_type(std::move(its_type)), meaning(number) {}
  TypePtr type() const override { return static_type; }

  // Invalid for a value that is never looked at (an attribute that __setstate__ would have computed).
  NodeRef ref;
  TypePtr static_type;
  NumberMeaning meaning;  // of an integer
  // Null when nothing is known.  Proxies of the same value share it: lists change, and tensors change shape.
  std::shared_ptr<AbstractValue> known;
};

Value make_proxy(NodeRef value, TypePtr type, NumberMeaning meaning = NumberMeaning::kNumber);
Value make_proxy(NodeRef value, TypePtr type, AbstractValue known);

// What is known of the proxy is `known` from now on, for both of them.
void share_known(const Value& proxy, std::shared_ptr<AbstractValue> known);

// What is known of the proxy that `value` is; unknown for anything else.
const AbstractValue& known_of(const Value& value);

// The proxy that `value` is; null for anything else.
const Proxy* find_proxy(const Value& value);

// Type of the value as it is now; a proxy's own.
using script::dynamic_type;

}  // namespace fxtrace::torchscript
