// Values of the symbolic interpreter: LibTorch's own IValues, in which a proxy may stand for any value that
// depends on an input.  A proxy is a capsule, so LibTorch's lists, dicts, tuples and objects hold it like any
// other value, with their own aliasing and their own operators.
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <cstddef>
#include <cstdint>

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

// What is inside a list, dict or tuple.  Parts that several hold are looked at once and count for each.
struct Extent {
  bool is_plain = true;    // neither a proxy nor a tensor nor an object, and none inside
  std::size_t size = 1;    // values, and text at 16 characters for one; kEndless for what holds itself
  std::size_t looked = 1;  // values that were looked at

  static constexpr std::size_t kEndless = SIZE_MAX / 2;
};
Extent extent_of(const at::IValue& value);

inline bool is_plain(const at::IValue& value) { return extent_of(value).is_plain; }

// Type of the value as it is now; a proxy's own.
c10::TypePtr dynamic_type(const at::IValue& value);

}  // namespace fxtrace
