// Nodes and their metadata as text for people.
//
//   %x = placeholder[x]()
//   %w = get_attr[a.weight]()                                  # a: pkg.Sub
//   %add_1 = call_function[aten.add.Tensor](%x, %w, alpha=2)   # a: pkg.Sub
//   %output = output[output](%add_1)
//
// One node per line: name, opcode, target, arguments, and behind "#" the scope where it is not the root ("#"
// path, ": " and type where it has one).  Arguments are Python literals; values that Python has no literal
// for are written as calls: slice(1, None, 2), complex(1.0, 2.0), dtype("float32"), device("cpu"),
// layout("strided"), memory_format("contiguous_format"), graph("true_graph_0"), function("aten.sin.default").
// Strings are in double quotes with \" \\ \n \t \xHH. Names and targets are written as they are; a target may
// contain anything but a newline and "](".  The value's type and shape may follow behind " -> ", as
// value_text() writes them; sources are left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace fxtrace::internal {

// Return the two parts of such a line: the node without its scope, and the scope, which is empty for the
// root's first call.  No argument is begun behind the first `most` bytes: a list may name a node with a long
// name any number of times.
std::string print_node(const Graph& graph, const Node& node, std::size_t most = SIZE_MAX);
std::string print_scope(const Scope& scope);

// Return one argument of a node of the graph in that form; without a graph, the argument must not refer to
// nodes.
std::string print_argument(const Graph& graph, const Argument& argument, std::size_t most = SIZE_MAX);
std::string print_argument(const Argument& argument);

// Returns the type and shape of a value for people: "float32[1, batch]", "int", "int 2*batch"; empty when
// unknown.
std::string value_text(const Meta& meta);
// Returns value_text() with the device: "float32[4] on cuda:0".
std::string known_value_text(const Meta& meta);

std::string shape_text(const std::vector<std::int64_t>& shape);  // "[2, 3]"

// Returns "net.py:12: return x + y", for messages.
std::string place_text(const SourceLocation& source);

}  // namespace fxtrace::internal
