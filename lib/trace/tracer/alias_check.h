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
#include <vector>

#include "analysis/effects.h"
#include "graph/graph_collection.h"
#include "trace/tracer/graph_tracer.h"

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

// Makes assignments of tensors to attributes safe as copies, or finds that they are not.
//
// `self.state = new` gives the attribute another tensor.  A graph cannot do that: it records
// aten.copy_(self.state, new), which writes into the attribute's own tensor.  The two differ in three ways,
// all about values that share memory (analysis/alias_regions.h):
//
// 1. The old tensor.  In the code it keeps its elements; in the graph the copy overwrites them.  If a value
//    that may alias it is used after the copy, or is the value that is copied, all uses of the attribute but
//    the copies are given a clone, made right after the attribute is read.  If the old tensor is also written
//    in place, by a node or by a leaf that has the attribute, a clone would miss that write: a conflict.
// 2. The new tensor.  In the code a later write to it changes the attribute; in the graph it does not.  Such
//    a write is a conflict unless another copy into the same attribute follows it and no leaf reads the
//    attribute.  So is a leaf that may write into the attribute, if the new tensor is used after it or is an
//    input of the graph.
// 3. The next call.  In the code the attribute is then the new tensor itself.  That is a conflict if the new
//    tensor is visible elsewhere (as an input, a parameter, a result, or another attribute) and the attribute
//    is also written in place, or a new tensor from outside is.
// 4. A clone changes the graph, so the check begins anew after each.  It ends, because each attribute is
//    cloned at most once; needing it twice is a conflict.

// Carries out 1. on the graph.  Example: the code is `old = self.state; new = old + x; self.state = new;
// return new - old`, so that %sub uses the old tensor after the copy:
//
//   %s = get_attr[s]()                                  %s = get_attr[s]()
//   %add = call_function[aten.add.Tensor](%s, %x)       %clone = call_function[aten.clone.default](%s)
//   %copy_ = call_function[aten.copy_.default]          %add = call_function[aten.add.Tensor](%clone, %x)
//                (%s, %add)                      =>     %copy_ = ...(%s, %add)
//   %sub = call_function[aten.sub.Tensor](%add, %s)     %sub = call_function[aten.sub.Tensor](%add, %clone)
//
// Only %copy_ still has %s.  On the second pass no older value that may alias %s is used after the copy,
// so 2. and 3. are checked; %add is not written in place, and nothing is returned.
//
// Returns the first conflict: a difference between graph and code in this call or the next; nothing when
// there is none.  The module of a conflict is the one whose code assigns the attribute.
std::optional<AliasConflict> settle_state(ModuleGraph& graph, const std::vector<StateWrite>& writes,
                                          Semantics& semantics, const MayWrite& may_write);

}  // namespace fxtrace::internal
