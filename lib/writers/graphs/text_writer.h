// Writes a collection as text, for people and for diffs: the content of the JSON, one fact a line.
//
//   graph (root): pkg.Net
//     %x = placeholder[x]() -> float32[2, 4]
//     # net.py:12 in forward: return self.a(x) + 2
//     %a = call_module[a](%x) -> float32[2, 4]  # a: pkg.Sub
//     %add = call_function[aten.add.Tensor](%a, 2) -> float32[2, 4]
//
// Nodes are as in graph/analysis/text_form.h, with types and shapes after "->".  A line of the source
// precedes the first of the nodes that come from it.
#pragma once

#include <ostream>

#include "graph/graph_collection.h"

namespace fxtrace::internal {

// Writes UTF-8; the same collection gives the same bytes, and the layout of a line does not depend on other
// lines.  Control characters are written as \n, \t and \xHH, malformed UTF-8 as U+FFFD.
void write_text(const GraphCollection& collection, std::ostream& out);

}  // namespace fxtrace::internal
