// Builds lists, tuples and dicts from their parts.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "verify/calls/engine.h"

namespace fxtrace::verify {

struct NestedItem {
  const std::vector<Argument>* path;  // indices and keys that lead to it, the outermost first
  RunValue value;
};

// Returns the value with these parts, below the first `depth` keys of their paths, which all share.  A single
// part whose path ends there is the value itself.  Throws RunError.
RunValue nested(const Engine& engine, const std::vector<NestedItem>& parts, std::size_t depth);

// Returns the arguments of forward by name: its signature says how the graph's inputs and what options have
// fixed make them up.  Throws RunError.
std::vector<std::pair<std::string, RunValue>> arguments_of_forward(const Engine& engine,
                                                                   const ModuleGraph& graph,
                                                                   const std::vector<RunValue>& inputs);

}  // namespace fxtrace::verify
