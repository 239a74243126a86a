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

// Writes each graph as torch.fx prints that of a graph module: the text of `print(module.graph)`, with no
// types, shapes and sources.
//
//   graph():
//       %x : [num_users=1] = placeholder[target=x]
//       %a : [num_users=1] = call_module[target=a](args = (%x,), kwargs = {})
//       %add : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%a, 2), kwargs = {})
//       return add
//
// The root's graph is what torch.fx prints of the module that graph_module() of Python makes, byte for byte,
// but that a function is called by its own name where graph_module() calls it through one of fxtrace, and
// that control characters are escaped, and that a tensor inside of an exported leaf has its own name
// (a.weight) where graph_module() has to rename it (a_weight).  Other graphs follow behind an empty line and
// "# " with their name.
void write_torch_graph(const GraphCollection& collection, std::ostream& out);

// Writes a collection as JSON, format "fxtrace.graph_collection", version 1:
// schemas/graph_collection.schema.json.

// Writes the document and a newline.  The same collection gives the same bytes: UTF-8, keys in a fixed order,
// one node, module and parameter a line.  Malformed UTF-8 in strings becomes U+FFFD; unknown values are null.
// `options_json` is inserted unchanged.  Throws Error(kInternal) when a constant's elements do not match its
// shape; the caller must check the stream.
void write_json(const GraphCollection& collection, std::ostream& out);

}  // namespace fxtrace::internal
