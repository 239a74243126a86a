// What it costs to run a node, or a graph: numbers, or expressions of the graph's dimensions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "symbolic/sym_int.h"

namespace fxtrace {

// What is absent is not known.  A node without a Cost does nothing that costs: inputs, parameters, views,
// sizes.
struct Cost {
  // Multiply-accumulates of matrix products, convolutions, attention and what else does these; elementwise
  // operations, reductions and normalisations count none, as in torch.utils.flop_counter, which counts two
  // operations for each.
  std::optional<SymInt> macs;
  // Of parameters, buffers and constants that are read, shared ones once.
  std::int64_t parameter_bytes = 0;
  // Of new memory for results; views and in-place operations take none.
  std::optional<SymInt> activation_bytes;
  // The most of these that is held at one time, each from the operation that makes it to the last that uses
  // it; of a graph its inputs too.
  std::optional<SymInt> peak_bytes;
  // What is not in `macs`: operators that no rule knows and modules that cannot be followed, with how often
  // they are called.
  std::map<std::string, std::int64_t> unknown;
  // Calls whose sizes are not known: neither in `macs` nor in the bytes.
  std::int64_t unsized = 0;

  bool operator==(const Cost&) const = default;
};

}  // namespace fxtrace
