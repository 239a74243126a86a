// Puts the operations of a leaf's call together, so that one call_module can stand for them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "exported/program_graph.h"

namespace fxtrace {

// An operation of a module that is traced into, or a leaf's call with all the operations it stands for.
struct Step {
  std::optional<CallId> leaf;
  std::vector<std::uint32_t> operations;  // in program order
};

// The operations of `graph` in an order in which every value is made before it is used, and in which nothing
// has moved that may change what another operation sees or does.  leaf_of() gives the leaf call that an
// operation belongs to, or nothing.
//
// Operations of one call nearly always stand together already: the program lists them as they ran.  What
// stands between them goes before the call when nothing of the call reaches it, else behind; operations that
// belong to no module and use what the call makes become part of it.  Where neither is possible, because the
// call needs a value that needs the call, or because an effect would move, the call is split there into
// several steps.
std::vector<Step> schedule(const ProgramGraph& graph,
                           const std::function<std::optional<CallId>(const Operation&)>& leaf_of);

}  // namespace fxtrace
