// Indices and slices, with the meaning of Python.
#pragma once

#include <cstddef>
#include <cstdint>

#include "script/plain_operators.h"

namespace fxtrace::script {

// Normalises an index: a negative one counts from the end.
inline std::int64_t normalized(std::int64_t index, std::int64_t size) {
  return index < 0 ? index + size : index;
}

// A slice: `count` indices starting at `from`, all within the sequence.
struct Slice {
  std::int64_t from = 0, step = 1, count = 0;
};

// Reads arguments 1 to 3 of a slice of `size` elements: start and end, which may be None, and step.  Throws
// Raised (plain_call.h) for a step of 0.
Slice slice_argument(Arguments arguments, std::size_t size);

}  // namespace fxtrace::script
