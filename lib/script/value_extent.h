// How large a value is with all that is inside.
#pragma once

#include <cstddef>
#include <cstdint>

#include "script/value.h"

namespace fxtrace::script {

// What is inside a list, dict or tuple.  Parts that several hold are looked at once and count for each.
struct Extent {
  bool is_plain = true;    // neither a handle nor a tensor nor an object nor a future, and none inside
  std::size_t size = 1;    // values, and text at 16 characters for one; kEndless for what holds itself
  std::size_t looked = 1;  // values that were looked at

  static constexpr std::size_t kEndless = SIZE_MAX / 2;
};

// Of what is nested deeper than kMaxValueDepth: endless, and not plain.
Extent extent_of(const Value& value);

inline bool is_plain(const Value& value) { return extent_of(value).is_plain; }

}  // namespace fxtrace::script
