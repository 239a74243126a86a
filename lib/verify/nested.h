// Builds lists, tuples and dicts from their parts.
#pragma once

#include <cstddef>
#include <vector>

#include "verify/engine.h"

namespace fxtrace::verify {

struct Part {
  const std::vector<Argument>* path;  // indices and keys that lead to it, the outermost first
  RunValue value;
};

// Returns the value with these parts, below the first `depth` keys of their paths, which all share.  A single
// part whose path ends there is the value itself.  Throws RunError.
RunValue nested(const Engine& engine, const std::vector<Part>& parts, std::size_t depth);

}  // namespace fxtrace::verify
