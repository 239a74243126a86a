// Sizes at the boundary of a module's call.
//
// torch.export computes a size once and uses it wherever the same size is needed: a module's operations may
// use one that another module's forward has computed, as in
//
//   a:  sym_size = sym_size(x, 0);  mul = sym_size * 8;  view = view(q, [mul, 4])
//   b:                                                   view_1 = view(r, [mul, 4])
//
// although b's forward computes it from its own input, which has the same batch size.  LocalSizes undoes the
// sharing: it gives each call its own computation of the size, so that sizes do not become arguments.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/program_operations.h"
#include "exported/program/hierarchy.h"

namespace fxtrace::internal {

// Returns whether the value is a number or a condition, as arithmetic of sizes makes them.
bool is_size(const Meta& meta);

class LocalSizes {
 public:
  // `without_options` is the same graph with the sizes that it has without options, as the arguments of a
  // call must not depend on options.  Both must outlive this.
  LocalSizes(const ProgramView& graph, const ProgramView& without_options);

  // Returns the boundary of `operations`, as boundary_of() gives it, without the sizes that can be computed
  // on their side of it:
  // - adds to `operations` the arithmetic that computes entering sizes inside, which other modules have run;
  // - removes arithmetic that only computes sizes which the entering tensors have anyway, and checks of sizes
  //   that the caller knows;
  // - leaves out entering sizes that follow from the sizes of entering tensors (find_source()), and leaving
  //   sizes that can be computed outside.
  // A size computed by an operation for which is_run_by_caller() holds enters, unless it can be computed
  // inside.
  using BoundaryOf = std::function<Boundary(const std::vector<NodeId>&)>;
  using IsRunByCaller = std::function<bool(NodeId)>;
  Boundary settle(std::vector<NodeId>& operations, const BoundaryOf& boundary_of,
                  const IsRunByCaller& is_run_by_caller) const;

  bool is_size(NodeId value) const;
  // Returns whether an operation without effects makes the size, from a tensor or from other sizes.
  bool has_maker(NodeId value) const;

  // Returns the tensors that have this size as a dimension, with the dimension's position.
  using Dims = std::vector<std::pair<NodeId, std::size_t>>;
  const Dims& tensors_with(NodeId size) const;

 private:
  class Side;
  void settle(Boundary& boundary, std::vector<NodeId>& operations,
              const IsRunByCaller& is_run_by_caller) const;
  bool is_arithmetic(NodeId value) const;
  std::vector<NodeId> without(const std::vector<NodeId>& operations,
                              const std::function<bool(NodeId)>& goes) const;

  const ProgramView graph_, without_options_;
  mutable std::optional<std::unordered_map<std::string, Dims>> dims_;  // by text; made on first use
};

// Extraction of single module calls from the graph of a program, as graphs of their own.

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
