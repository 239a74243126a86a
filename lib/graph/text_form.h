// Nodes and what is known of them as text, for people.
//
//   %x = placeholder[x]()
//   %w = get_attr[a.weight]()                                  # a: pkg.Sub
//   %add_1 = call_function[aten.add.Tensor](%x, %w, alpha=2)   # a: pkg.Sub
//   %output = output[output](%add_1)
//
// One node per line: name, opcode, target, arguments, and behind "#" the scope where it is not the root ("#"
// path, ": " and type where it has one).  Arguments are Python's literals, and what Python has no literal for
// is written as a call: slice(1, None, 2), complex(1.0, 2.0), dtype("float32"), device("cpu"),
// layout("strided"), memory_format("contiguous_format"), graph("true_graph_0"), function("aten.sin.default").
// Strings are in double quotes with \" \\ \n \t \xHH. Names and targets stand as they are; a target may hold
// anything but a newline and "](".  What is known of the value may stand behind " -> ", as value_text() has
// it; sources are not in this form.
#pragma once

#include <string>

#include "graph/graph.h"

namespace fxtrace {

// One line of that form: the node without its scope, and the scope; empty for the root's first call.
std::string print_node(const Graph& graph, const Node& node);
std::string print_scope(const Scope& scope);

// One argument of a node in the graph, as it stands in that form.
std::string print_argument(const Graph& graph, const Argument& argument);

// What is known of a value, for people: "float32[1, batch]", "int", "int 2*batch"; empty when nothing is.
std::string value_text(const Meta& meta);
// The same, and what else there is: "float32[4] on cuda:0".
std::string known_value_text(const Meta& meta);

// "net.py:12: return x + y", for messages.
std::string place_text(const SourceLocation& source);

}  // namespace fxtrace
