// What a program says of each operation besides its arguments: the stack of modules, and strides of its
// results.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/analysis/execution_order.h"
#include "graph/graph_collection.h"
#include "graph/program_view.h"

namespace fxtrace::internal {

// nn_module_stack: the modules whose forward runs an operation, as torch.export writes them.

// The stacks of one graph, each once.  A stack lists the modules whose calls run, the outermost first.  The
// key of an entry ends with the number of the call, by which torch.export.unflatten() tells calls of one
// module apart; before it is what tells modules apart:
//     L__self__,,pkg.Net;L__self___layers.0@1,layers.0,pkg.Block
class ModuleStacks {
 public:
  // `collection` and `graph`, that of its root, must outlive this.
  ModuleStacks(const GraphCollection& collection, const ModuleGraph& graph);

  CallId find_call(const Scope& scope);
  // Returns the stacks by CallId; the first is the root's.
  std::vector<std::string> take_result() { return std::move(texts_); }

 private:
  std::string entry(const std::string& path, std::size_t call) const;

  std::string root_type_;
  CallOrder order_;
  std::map<std::string, std::string, std::less<>> types_;               // types, by path
  std::map<std::string, std::vector<std::size_t>, std::less<>> calls_;  // by path, in order
  std::map<std::pair<std::string, std::size_t>, CallId> known_;         // CallIds, by path and call
  std::vector<std::string> texts_;
};

// Strides of the tensors of a program.
//
// A program states strides for every tensor, and compilers take memory layouts from them.  add_strides()
// derives them from the strides of the inputs, operation by operation (analysis/layout/stride_rules.h).
//
// Invariants:
// 1. Every tensor has strides before: those of the file for parameters, buffers and constants, else
//    contiguous ones (Body).  add_strides() only replaces strides of results; where no rule tells, they stay
//    contiguous.
// 2. Operations are visited in topological order, so the strides of arguments are final.  Inputs of a
//    subgraph get the strides of the operands first, if the shapes are equal, and the subgraph is done before
//    its operation.
// 3. A result that is one of the arguments itself (for_each_handed_on()), as that of relu_, has the strides
//    of the argument if the shapes are equal, whatever the rule says.

// Sets the strides of the results of all operations, subgraphs included, in the table of the graph.
void add_strides(const ModuleGraph& graph, ProgramTable& table);

}  // namespace fxtrace::internal
