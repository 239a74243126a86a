// Measures a value with all nested values.
#pragma once

#include <cstddef>
#include <cstdint>

#include "torchscript/values/value.h"

namespace fxtrace::internal::torchscript {

// The extent of a value.  A shared part is visited once, but counted at each occurrence.
struct Extent {
  bool is_plain = true;    // it neither is nor contains a tensor, an object or a handle
  std::size_t size = 1;    // number of values, plus one per 16 characters of text; kEndless when cyclic
  std::size_t looked = 1;  // number of values visited

  static constexpr std::size_t kEndless = SIZE_MAX / 2;
};

// A value nested deeper than kMaxValueDepth counts as endless and not plain.
Extent extent_of(const Value& value);

inline bool is_plain(const Value& value) { return extent_of(value).is_plain; }

}  // namespace fxtrace::internal::torchscript
