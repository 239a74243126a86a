// Reorders operations so that those of a leaf's call are contiguous and one call_module can stand for them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "trace/modules/program_graph.h"

namespace fxtrace {

// An operation of a module that is traced into, or a leaf's call with all operations that it stands for.
struct Step {
  std::optional<CallId> leaf;
  std::vector<std::uint32_t> operations;  // in program order
};

// Returns the operations of `graph` in an order that respects data dependencies and effects.  leaf_of()
// returns the leaf call that an operation belongs to, or nothing.
//
// Operations of one call are nearly always contiguous already, as the program lists them in execution order.
// An operation between them moves before the call when it does not depend on the call, else behind it; one
// that belongs to no module and uses a result of the call becomes part of it.  When the call depends on a
// value that depends on the call, or an effect would have to move, the call is split there into several
// steps.
std::vector<Step> schedule(const ProgramGraph& graph,
                           const std::function<std::optional<CallId>(const Operation&)>& leaf_of);

}  // namespace fxtrace
