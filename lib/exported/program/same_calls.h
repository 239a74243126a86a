// Whether two calls in an exported program may be calls of one module.
#pragma once

#include <cstddef>
#include <map>
#include <string_view>
#include <vector>

#include "exported/program/hierarchy.h"
#include "trace/modules/program_graph.h"

namespace fxtrace {

// Compares calls of modules of one type whose tensors are all tied, by what they do.  They are of two modules
// where the same code does something else with what is no tensor (a stride, a probability, another
// activation), unless what enters tells why: sizes that differ as those of the tensors do, children that one
// of the calls leaves out.
class CallComparison {
 public:
  // `graph` must outlive this.
  CallComparison(const ProgramGraph& graph, const Hierarchy& hierarchy);

  bool may_be_one_module(CallId a, CallId b) const;

 private:
  struct Place {
    const ProgramGraph* graph = nullptr;
    const Operation* operation = nullptr;
  };
  void add(const ProgramGraph& graph);
  // `other_sizes`: whether tensors that operations of the two calls took differ in their sizes.
  static bool does_the_same(const Place& a, const Place& b, bool& other_sizes);

  std::vector<std::vector<Place>> operations_;  // by call, those of inner calls left out
  std::vector<std::map<std::string_view, std::vector<CallId>>> children_;  // by call, then by name in it
};

}  // namespace fxtrace
