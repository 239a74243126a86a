// Builds lists, tuples and dicts from their parts.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "verify/calls/engine.h"

namespace fxtrace::internal::verify {

struct NestedItem {
  const std::vector<Argument>* path;  // indices and keys that lead to the value, the outermost first
  RunValue value;
};

// Returns the value with these parts, whose paths share their first `depth` keys.  A single part whose path
// ends there is the value itself.  Throws RunError.
RunValue nested(const Engine& engine, const std::vector<NestedItem>& parts, std::size_t depth);

// Returns the arguments of forward by name, made of the inputs of the graph and of inputs that options have
// fixed, as the signature says.  Throws RunError.
std::vector<std::pair<std::string, RunValue>> arguments_of_forward(const Engine& engine,
                                                                   const ModuleGraph& graph,
                                                                   const std::vector<RunValue>& inputs);

}  // namespace fxtrace::internal::verify
