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
#pragma once

#include "graph/program_view.h"

namespace fxtrace::internal {

// Sets the strides of the results of all operations, subgraphs included, in the table of the graph.
void add_strides(const ModuleGraph& graph, ProgramTable& table);

}  // namespace fxtrace::internal
