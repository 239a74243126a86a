// Contiguous strides: rows of the last dimension side by side, as torch makes them.
#pragma once

#include <cstdint>
#include <vector>

#include "symbolic/sym_int.h"

namespace fxtrace::internal {

// Return the strides of a contiguous tensor; a size of 0 counts as 1.  Strides beyond 64 bits are the largest
// number, or throw SymbolicError.
std::vector<std::int64_t> contiguous_strides(const std::vector<std::int64_t>& sizes);
std::vector<SymInt> contiguous_strides(const std::vector<SymInt>& sizes);

// Returns whether a tensor with these strides is contiguous, as torch has it: strides of dimensions of size 1
// do not matter, nor do any if it has no elements.
bool is_contiguous(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& strides);

}  // namespace fxtrace::internal
