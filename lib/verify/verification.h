// Whether a traced graph computes what its model computes: both run on the same inputs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph_collection.h"
#include "verify/inputs.h"
#include "verify/profile.h"
#include "verify/runnable_model.h"

namespace fxtrace::verify {

struct VerifyOptions {
  std::int64_t runs = 1;
  std::uint64_t seed = 0;
  double absolute = 0, relative = 0;  // tolerance; 0 and 0: bit for bit
  bool profiles = false;
};

// What is not as it should be.
struct Fault {
  enum class Kind {
    kValue,  // other numbers, or another shape or dtype than the model's
    kMeta,   // another shape or dtype than the graph says
    kGuard,  // a guard of the graph does not hold for the inputs
    kFails   // the graph cannot be run
  };
  Kind kind = Kind::kValue;
  std::int64_t run = 0;
  std::string what;  // "float32[2,3] where the graph says float32[2,4]"
  // The node where it begins.  Empty for guards, and where no node by itself differs.
  std::string graph, node, text, module, source;
  std::string place;  // in the result, "[0]['logits']"; of a buffer its name; empty for nodes
  std::optional<FxtraceStatistics> ours, theirs;
  std::optional<FxtraceDifference> difference;
  std::int64_t more = 0;  // nodes after it that differ too
};
const char* to_string(Fault::Kind kind);  // "value"

struct Verification {
  std::int64_t runs = 0;                            // that were compared
  std::int64_t nodes = 0, tensors = 0, guards = 0;  // looked at in one run, and guards that inputs decide
  std::vector<std::string> sizes;                   // of each run, "batch=3, seq=8"
  std::vector<InputOrigin> origins;                 // of each run
  std::optional<Fault> fault;
  std::optional<Profile> profile;  // of the graph on the inputs of the first run, where that was asked for
};

using Load = std::function<std::unique_ptr<RunnableModel>()>;

// Of the collection's first graph, that of the model's root.  `load` makes the model anew.  A profile is made
// of what is equal.  Throws RunError where the model itself cannot be run, CannotRun where the
// graph cannot, for what LibTorch has not, and MissingInput.
Verification verify_graph(const Engine& engine, const GraphCollection& collection,
                          const TraceOptions& trace_options, const Load& load, const VerifyOptions& options,
                          const GivenInputs& given);

}  // namespace fxtrace::verify
