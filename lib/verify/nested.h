// Lists, tuples and dicts from their parts.
#pragma once

#include <cstddef>
#include <vector>

#include "verify/engine.h"

namespace fxtrace::verify {

struct Part {
  const std::vector<Argument>* path;  // places and keys that lead to it, the outermost first
  RunValue value;
};

// What has these parts, behind the first `depth` keys of their paths, which all share.  One part whose path
// ends there is it itself.  Throws RunError.
RunValue nested(const Engine& engine, const std::vector<Part>& parts, std::size_t depth);

}  // namespace fxtrace::verify
