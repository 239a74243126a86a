// Extraction: makes a part of a graph a collection of its own.
//
// A part is the call of a module, or all nodes on paths between two sets of nodes.  Run on the values that
// entered it, the part computes what the whole graph computed, bit for bit.  The nodes that the caller named
// do not suffice for that where memory is written or a mode is switched; GraphPart (analysis/graph_part.h)
// adds others until nothing is missing, and refuses parts that cannot stand by themselves.
//
// Invariants of the result:
// 1. Nodes keep their names, their order and their modules; calls of a module are counted anew from 1.
// 2. A value that is made outside and read inside becomes one placeholder with the name of the node.  Its
//    argument is named as by the module that is called, where that is recorded.  A size of a tensor among the
//    inputs does not enter: it is computed from the tensor (sym_size).
// 3. Parameters, buffers and constants are read by get_attr as before.  One that nodes before the part write
//    to enters as an input instead.
// 4. A value that is used outside leaves: as the output itself, or in a tuple in the order of the nodes.  If
//    the part has the output of the graph, that is kept.  If all that leaves is in the named tuple or dict
//    that the module returns, that is returned.
// 5. These nodes come along unasked: nodes between members, by value or by memory; all of a torch.vmap; items
//    of tuples that members return; and helpers, whose values leave only if they are asked for: writes
//    between members to memory that members use, views of memory that members write, regions and switches of
//    autocast and gradients, random calls between random calls, and writes of members' values to buffers.
// 6. The collection has the modules that nodes and calls name, those around them, and all below the module
//    that is taken and below leaves that are called; it has their parameters.  The first kept name of a tied
//    parameter becomes its first name.
// 7. A guard is kept if it names only inputs that enter unchanged, and dimensions of values that enter.
//
// Example: --from relu --to mul
//
//   %x = placeholder[x]()
//   %fc = call_module[fc](%x)            %fc = placeholder[fc]()          enters
//   %relu = aten.relu(%fc)               %relu = aten.relu(%fc)
//   %add_ = aten.add_(%fc, 1)            %add_ = aten.add_(%fc, 1)        a helper: it writes to %fc
//   %sigmoid = aten.sigmoid(%relu)       %sigmoid = aten.sigmoid(%relu)   between members
//   %mul = aten.mul(%sigmoid, %add_)     %mul = aten.mul(%sigmoid, %add_)
//   output(%mul)                         output(%mul)                     leaves
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph_collection.h"

namespace fxtrace::internal {

struct ExtractRequest {
  // The path of the module whose call is the part.  If the module has a graph of its own and no call is
  // given, the part is that graph.
  std::optional<std::string> module;
  std::optional<std::int64_t> call;  // the number of its call in the graph, from 1
  // Otherwise, the part is all nodes on paths from one of `from` to one of `to`, these included, by name.
  // Without `from`, it is all that `to` needs; without `to`, all that needs `from`, up to the output.
  std::vector<std::string> from, to;
  // Or exactly these nodes, a run of an order of execution of the graph (partition/runs.h).
  std::vector<NodeId> run;
  std::string graph;  // the module of the graph that contains all these
};

// Throws Error(kUsage) for a request of which no part can be meant.
void check_request(const ExtractRequest& part);

// Returns the part with the modules, parameters, constants, subgraphs, guards and order of use that belong to
// it.  Throws Error(kUsage) when there is no such part, and Error(kInput) when it cannot stand by itself.
GraphCollection extract(const GraphCollection& collection, const ExtractRequest& part);

}  // namespace fxtrace::internal
