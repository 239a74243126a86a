// What of a graph is quantized, as torch's pt2e quantization writes it: operators between a dequantize and a
// quantize, which backends replace by integer kernels.
#pragma once

#include <functional>
#include <string>

#include "fxtrace/report_values.h"
#include "graph/graph.h"

namespace fxtrace::internal {

using fxtrace::QuantizedCompute;

std::string to_string(const QuantizedCompute& compute);  // "int8 3/4"; empty without calls

// Calls f for each call of the graph, without its bodies, that has MACs.  Takes time linear in the graph.
void for_each_compute(const Graph& graph, const std::function<void(const Node&, const QuantizedCompute&)>& f);

}  // namespace fxtrace::internal
