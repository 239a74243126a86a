// Values of the symbolic interpreter: LibTorch's own IValues, in which a proxy may stand for any value that
// depends on an input.  A proxy is a capsule, so LibTorch's lists, dicts, tuples and objects hold it like any
// other value, with their own aliasing and their own operators.
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include "shapes/abstract_value.h"
#include "torchscript/number_meanings.h"
#include "trace/graph_builder.h"

namespace fxtrace {

struct Proxy : torch::CustomClassHolder {
  Proxy(NodeRef value, c10::TypePtr static_type, NumberMeaning number = NumberMeaning::kNumber)
      : ref(value), type(std::move(static_type)), meaning(number) {}

  // Invalid for a value that is never looked at (an attribute that __setstate__ would have computed).
  NodeRef ref;
  c10::TypePtr type;
  NumberMeaning meaning;  // of an integer
  // Null when nothing is known.  Proxies of the same value share it: lists change, and tensors change shape.
  std::shared_ptr<AbstractValue> known;
};

at::IValue make_proxy(NodeRef value, c10::TypePtr type, NumberMeaning meaning = NumberMeaning::kNumber);
at::IValue make_proxy(NodeRef value, c10::TypePtr type, AbstractValue known);

// What is known of the proxy that `value` is; unknown for anything else.
const AbstractValue& known_of(const at::IValue& value);

// The proxy that `value` is; null for anything else.
const Proxy* find_proxy(const at::IValue& value);

// Neither a proxy nor a tensor nor an object, and none inside.
bool is_plain(const at::IValue& value);

// Type of the value as it is now; a proxy's own.
c10::TypePtr dynamic_type(const at::IValue& value);

}  // namespace fxtrace
