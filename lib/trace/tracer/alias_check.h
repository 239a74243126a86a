// Finds control flow that would compute something else as a graph than as code, because of writes in place.
//
// torch's cond and while_loop refuse subgraphs that mutate an operand, and their results are never an operand
// itself but a copy.  Code has no such limits: `y = x if c else z` makes y the tensor x, so that a later
// write to x changes y too.  In the graph y would be a copy.  The check finds both cases; the module whose
// code has the branch or loop then becomes a leaf.
//
// 1. A node of a subgraph must not write to a value that may alias an input of the subgraph, a parameter, a
//    buffer or a constant.  Nodes with unknown effects, such as leaf modules, are exempt: torch runs them on
//    the operands themselves, as the code does.
// 2. A result of a subgraph is a copy of an input if it is an aten.clone without a source location (a clone
//    in the code has one) of that input, or if it comes from such a result of control flow inside.  In a
//    loop, each carried value is also a copy of its own input (the loop may run no turn), and pairs are
//    chained over turns.
// 3. Values that may share memory in the code form a class: the regions of the alias analysis
//    (analysis/alias_regions.h), united for each pair of a copied result and its operand.
// 4. Each value of such a class has the set of calls, among those with copies, that its memory went through.
//    Values of one class with the same set share memory in the graph too.
// 5. A value that is used after a write must have the same set as the written value, counting only calls
//    before the write; otherwise the use would miss the write, or see one that it must not see.  A value is
//    compared with each write of its class at most once (Source::checked).
// 6. A write to a value with a nonempty set is refused if its class may be visible outside of the graph: the
//    caller, or the next call, would see it.
//
// Example: `y = x if c else x + 1; x.add_(1); return y`, where c depends on an input.
//
//   %cond = call_function[higher_order.cond](%c, true_graph_0, false_graph_0, [%x])
//   %y = call_function[operator.getitem](%cond, 0)
//   %add_ = call_function[aten.add_.Tensor](%x, 1)
//   %output = output[output](%y)
//
// The result 0 of true_graph_0 is a clone of its input 0 (2.), so %y and %x are one class (3.).  The set of
// %x is {}, that of %cond and %y is {cond} (4.).  %add_ writes to %x with the set {}; the output then uses
// %y, whose set {cond} differs (5.).  The check reports the write of add_ and the use by a result.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "analysis/effects.h"
#include "graph/graph_collection.h"

namespace fxtrace::internal {

struct AliasConflict {
  std::string module;  // path of the module whose code has the branch, loop or assignment
  Failure failure;
};

// Returns whether a node whose effects are unknown, such as a leaf module of the model, may write to one of
// its tensor arguments.
using MayWrite = std::function<bool(const Node&)>;

// Returns the first conflict in the graph or its subgraphs; nothing when there is none.
std::optional<AliasConflict> find_alias_conflict(const ModuleGraph& graph, Semantics& semantics,
                                                 const MayWrite& may_write);

}  // namespace fxtrace::internal
