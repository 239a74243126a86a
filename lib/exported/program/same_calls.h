// Comparison of two calls in an exported program: whether they may be calls of one module.
#pragma once

#include <cstddef>
#include <map>
#include <string_view>
#include <vector>

#include "analysis/program_operations.h"
#include "exported/program/hierarchy.h"

namespace fxtrace::internal {

// Compares calls of modules of one type whose tensors are all tied, by their operations.  The calls are of
// two modules where they differ in operators or in arguments that are not tensors (a stride, a probability,
// another activation), unless the inputs explain it: sizes may differ if those of the tensors do, and a call
// may leave out children.
class CallComparison {
 public:
  // `graph` must outlive this.
  CallComparison(const ProgramView& graph, const Hierarchy& hierarchy);

  bool may_be_one_module(CallId a, CallId b) const;

 private:
  struct Place {
    ProgramView graph;
    NodeId operation;
  };
  void add(const ProgramView& graph);
  // Returns whether two operations may be the same code.  Sets `other_sizes` when tensors that they take
  // differ in their sizes.
  static bool does_the_same(const Place& a, const Place& b, bool& other_sizes);

  std::vector<std::vector<Place>> operations_;  // by call, without those of inner calls
  std::vector<std::map<std::string_view, std::vector<CallId>>> children_;  // by call, then by name in it
};

}  // namespace fxtrace::internal
