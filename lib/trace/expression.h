// A value of a graph as the Python expression it came from: "x.dim() == 2".  For guards and failure messages.
#pragma once

#include <string>

#include "graph/graph.h"

namespace fxtrace {

// Deep or long expressions end in "...".
std::string expression(const Graph& graph, const Argument& value);

// A number as Python writes it; it reads back as the same number.
std::string python_float(double number);

}  // namespace fxtrace
