// What of a graph is quantized, as torch's pt2e quantization writes it: operators between a dequantize and a
// quantize, which backends replace by integer kernels.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "graph/graph.h"

namespace fxtrace::internal {

// The calls with MACs of a module, or of one call.
struct QuantizedCompute {
  std::set<std::string> weights;  // as they are stored: "int8", "int8 (4 bits)", "float32"
  std::int64_t calls = 0;
  std::int64_t quantized = 0;  // takes dequantized tensors alone, and all users quantize the result again
  void add(const QuantizedCompute& other);  // saturating
};
std::string to_string(const QuantizedCompute& compute);  // "int8 3/4"; empty without calls

// Calls f for each call of the graph, without its bodies, that has MACs.  Takes time linear in the graph.
void for_each_compute(const Graph& graph, const std::function<void(const Node&, const QuantizedCompute&)>& f);

}  // namespace fxtrace::internal
