// Operators and Python functions whose result follows from known facts about their arguments, without
// computing a tensor.
#pragma once

#include <cstdint>
#include <string_view>

namespace fxtrace::internal {

enum class KnownNumber : std::uint8_t {
  kNone,
  kRank,    // the rank of the tensor
  kLength,  // the size of its first dimension
  kSize,    // the size of the dimension given by the second argument
  kCount,   // the number of its elements
  kItem,    // the item of the list or tuple at the second argument
  kInt,     // the argument, also a tensor made by kOfNumber, converted to int; likewise kFloat and kBool
  kFloat,
  kBool,
  kOfNumber,  // a tensor made from the number
};

// Returns the kind for a node's target.
KnownNumber known_number_of(std::string_view target);

}  // namespace fxtrace::internal
