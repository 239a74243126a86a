// Operators and functions of Python whose result is known from what is known of their arguments, without a
// tensor being computed.
#pragma once

#include <cstdint>
#include <string_view>

namespace fxtrace {

enum class KnownNumber : std::uint8_t {
  kNone,
  kRank,    // number of dimensions of the tensor
  kLength,  // size of its first dimension
  kSize,    // of the dimension that the second argument names
  kCount,   // of its elements
  kItem,    // of the list or tuple, by the second argument
  kInt,     // the argument as such a number, and so below; also of a tensor that kOfNumber made
  kFloat,
  kBool,
  kOfNumber,  // the number as a tensor
};

// By the target of a node.
KnownNumber known_number_of(std::string_view target);

}  // namespace fxtrace
