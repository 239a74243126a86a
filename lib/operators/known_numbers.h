// Operators and Python functions whose result follows from known facts about their arguments, without
// computing a tensor.
#pragma once

#include <cstdint>
#include <string_view>

namespace fxtrace {

enum class KnownNumber : std::uint8_t {
  kNone,
  kRank,    // rank of the tensor
  kLength,  // size of its first dimension
  kSize,    // size of the dimension that the second argument names
  kCount,   // number of its elements
  kItem,    // item of the list or tuple, by the second argument
  kInt,     // the argument converted to int, as for the next ones; also a tensor made by kOfNumber
  kFloat,
  kBool,
  kOfNumber,  // a tensor made from the number
};

// Returns the kind for a node's target.
KnownNumber known_number_of(std::string_view target);

}  // namespace fxtrace
