// When an operator gives back what it is given, so that it may be left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "operators/operators.h"

namespace fxtrace {

struct IdentityRule {
  enum class When : std::uint8_t {
    kNever,
    kAlways,
    kSameType,         // dtype, device and layout that it asks for are the input's, and it asks for no copy
    kSameTypeAsOther,  // `argument` has the input's
    kSameAsOther,      // likewise, and its sizes
    kSameSizes,        // the list `argument` has the input's sizes; -1 stands for one of them
    kSameSizesOrAny,   // likewise, and -1 for any of them
    kSameOrder,        // the list `argument` is 0, 1, 2, ...
    kSameDims,         // `dim0` and `dim1` are one
    kOneDimension,     // the input has one
    kFullRange,        // `start`, `end` and `step` take all of `dim`
    kEvaluation,       // `train` is False
  } when = When::kNever;
  std::string_view argument = {};
  bool copies = false;    // the values, in other memory
  std::size_t gives = 0;  // which of its arguments
  bool writes = false;    // its first argument, and gives that memory back

  bool empty() const { return when == When::kNever; }
};

IdentityRule identity_rule(const Operator& op);

}  // namespace fxtrace
