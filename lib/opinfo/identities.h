// Identity rules: the conditions under which an operator returns its input unchanged, so that passes can
// remove the call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "operators/operators.h"

namespace fxtrace::internal {

struct IdentityRule {
  enum class When : std::uint8_t {
    kNever,
    kAlways,
    kSameType,         // the requested dtype, device and layout are the input's, and no copy is requested
    kSameTypeAsOther,  // the tensor `argument` has the dtype and device of the input
    kSameAsOther,      // likewise, and the same sizes
    kSameSizes,        // the list `argument` is the input's sizes, with at most one -1
    kSameSizesOrAny,   // likewise, with any number of -1
    kSameOrder,        // the list `argument` is 0, 1, 2, ...
    kSameDims,         // `dim0` and `dim1` are equal
    kOneDimension,     // the input has rank 1
    kFullRange,        // `start`, `end` and `step` select all of `dim`
    kEvaluation,       // `train` is False
  } when = When::kNever;
  std::string_view argument = {};
  bool copies = false;    // the result is a copy with the same values
  std::size_t gives = 0;  // the index of the argument that is the input, and is returned
  bool writes = false;    // writes to its first argument and returns it

  bool empty() const { return when == When::kNever; }
};

using When = IdentityRule::When;

}  // namespace fxtrace::internal
