// The cost of running a node or a graph: numbers, or expressions over the graph's dimensions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "symbolic/sym_int.h"

namespace fxtrace::internal {

// A cost.  Absent fields are unknown.  A node without a Cost costs nothing: inputs, parameters, views, sizes.
struct Cost {
  // Multiply-accumulate operations (MACs) of matrix products, convolutions, attention, and operators made of
  // these.  Elementwise operations, reductions and normalisations count none, as in torch.utils.flop_counter,
  // which counts two FLOPs for each MAC.
  std::optional<SymInt> macs;
  // Bytes of parameters, buffers and constants that are read, shared ones once.
  std::int64_t parameter_bytes = 0;
  // Bytes allocated for results; views and in-place operations allocate none.
  std::optional<SymInt> activation_bytes;
  // The peak of activation bytes, each result being live from the operation that makes it to its last use;
  // for a graph, its inputs are included.
  std::optional<SymInt> peak_bytes;
  // Calls that `macs` leaves out: operators without a rule and modules that cannot be followed, with the
  // number of their calls.
  std::map<std::string, std::int64_t> unknown;
  // The number of calls whose sizes are unknown, counted neither in `macs` nor in the bytes.
  std::int64_t unsized = 0;

  bool operator==(const Cost&) const = default;
};

}  // namespace fxtrace::internal
