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
#pragma once

#include <optional>
#include <vector>

#include "trace/tracer/alias_check.h"
#include "trace/tracer/graph_tracer.h"

namespace fxtrace::internal {

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
