// Extraction of single module calls from the graph of a program, as graphs of their own.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "analysis/program_operations.h"
#include "exported/modules/local_sizes.h"
#include "exported/program/hierarchy.h"

namespace fxtrace::internal {

struct CallGraph {
  ExportedGraph graph;  // its inputs enter the call, its outputs leave it
  // By value of `graph`: the value of the program's graph that it is, or that it is a changed version of;
  // invalid when the call runs in an operator's subgraph.
  std::vector<NodeId> origin;
};

// An index of operations by module call.  It is made once for a program, so that cutting out a call takes
// time linear in the size of the call.
class CallIndex {
 public:
  // Both must outlive the index.
  CallIndex(const ProgramView& graph, const Hierarchy& hierarchy);

  // Returns the first call of the module; nothing when the program never calls it.
  std::optional<CallId> first_call(ModuleId module) const;

  // Returns the call as a graph of its own.  Values of the program's graph whose origin satisfies is_own() do
  // not become inputs: the module accesses them itself.
  CallGraph cut_out(CallId call, const std::function<bool(NodeId)>& is_own) const;

 private:
  struct Graph {
    ProgramView graph;
    std::vector<std::uint32_t> uses;  // by value
    std::vector<NodeId> origin;       // by value
    LocalSizes sizes;
  };
  struct Place {
    std::size_t graph;
    NodeId operation;
  };
  void add(const ProgramView& graph);

  const Hierarchy& hierarchy_;
  std::vector<Graph> graphs_;                              // the program's, then subgraphs
  std::vector<std::vector<Place>> operations_;             // by call, without those of inner calls
  std::vector<std::vector<CallId>> children_;              // by call
  std::unordered_map<std::uint32_t, CallId> first_calls_;  // by module
};

// Returns, by call, the values that it makes and that are used outside it, in order of definition.
std::vector<std::vector<NodeId>> outputs_of_calls(const ProgramView& graph, const Hierarchy& hierarchy);

}  // namespace fxtrace::internal
