// Tensors that forward assigns to attributes are copied into the attributes' own tensors.  The code gives the
// attribute another tensor instead: what is the old one stays as it was, and what is written into the new one
// changes the attribute too.
#pragma once

#include <optional>
#include <vector>

#include "trace/tracer/alias_check.h"
#include "trace/tracer/graph_tracer.h"

namespace fxtrace {

// Where the graph uses an old tensor after a copy into it, lets it use a clone:
//
//   %h = get_attr[h]()                                  %h = get_attr[h]()
//   %add = call_function[aten.add.Tensor](%h, %x)       %clone = call_function[aten.clone.default](%h)
//   %copy_ = call_function[aten.copy_.default]          %add = call_function[aten.add.Tensor](%clone, %x)
//                (%h, %add)                      =>     %copy_ = ...(%h, %add)
//   %sub = call_function[aten.sub.Tensor](%add, %h)     %sub = call_function[aten.sub.Tensor](%add, %clone)
//
// Returns what the graph would do otherwise than the code, in this call or the next; nothing where it is the
// same.  A failure's module is the one whose code assigns.
std::optional<AliasConflict> settle_state(ModuleGraph& graph, const std::vector<StateWrite>& writes,
                                          Semantics& semantics, const MayWrite& may_write);

}  // namespace fxtrace
