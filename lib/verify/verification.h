// Verifies that a traced graph computes the same as its model, by running both on the same inputs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph_collection.h"
#include "verify/inputs/inputs.h"
#include "verify/models/profile.h"
#include "verify/models/runnable_model.h"

namespace fxtrace::verify {

struct VerifyOptions {
  std::int64_t runs = 1;
  std::uint64_t seed = 0;
  double absolute = 0, relative = 0;  // tolerances; both 0: bit for bit
  bool profiles = false;
};

// A difference.
struct Fault {
  enum class Kind {
    kValue,  // elements, shape or dtype differ from the model's
    kMeta,   // shape or dtype differ from the graph's metadata
    kGuard,  // a guard of the graph does not hold for the inputs
    kFails   // the graph cannot be run
  };
  Kind kind = Kind::kValue;
  std::int64_t run = 0;
  std::string what;  // "float32[2,3] where the graph says float32[2,4]"
  // The first node that differs.  Empty for guards, and when no single node differs.
  std::string graph, node, text, module, source;
  std::string place;  // path in the result, "[0]['logits']", or a buffer's name; empty for nodes
  std::optional<FxtraceStatistics> ours, theirs;
  std::optional<FxtraceDifference> difference;
  std::int64_t more = 0;  // number of later nodes that differ
};
const char* to_string(Fault::Kind kind);  // "value"

enum class Verdict {
  kEqual,
  kNotEqual,
  kCannotTell,  // some result is of a kind that is not compared
  kNotVerified  // the graph is a call of the whole model
};
const char* to_string(Verdict verdict);      // "not equal"
std::string sizes_text(const Sizes& sizes);  // "batch=3, seq=8"

// A run with drawn sizes that the model itself does not take.
struct Refusal {
  Sizes sizes;
  std::string what;  // the model's message
};

// Thrown where the model takes no run.
struct Refused : RunError {
  Refused(const std::string& what, Sizes drawn) : RunError(what), sizes(std::move(drawn)) {}
  Sizes sizes;  // of the last one
};

struct Verification {
  std::int64_t runs = 0;                            // compared runs
  std::int64_t nodes = 0, tensors = 0, guards = 0;  // compared in one run; guards that inputs decide
  std::vector<std::string> sizes;                   // by run: "batch=3, seq=8"
  std::vector<InputOrigin> origins;                 // by run
  // Modules that the graph calls: they ran as the model has them, so nothing inside of them was verified.
  std::vector<std::string> own_modules;     // paths, in the order of their first calls
  std::vector<std::string> failed_modules;  // those of them that failed to trace
  std::vector<Refusal> refusals;            // not among the runs
  std::optional<Fault> fault;
  std::string why;                 // of kCannotTell and kNotVerified: what was not compared
  bool calls_whole_model = false;  // the graph does
  std::optional<Profile> profile;  // of the first run's inputs, if asked for

  Verdict verdict() const;
};

// Returns what there is to say of a graph that calls the model as a whole, because the root failed to trace
// or is a leaf: it verifies nothing, whether it runs or not.  Nothing for other graphs.
std::optional<Verification> not_verified(const GraphCollection& collection);

using Load = std::function<std::unique_ptr<RunnableModel>()>;

// Verifies the collection's first graph, that of the model's root.  `load` returns a freshly loaded model.
// With `other` the graph is held to that model, which is of another file, in two calls at least; nodes that
// differ are looked for module by module, as both may come to the same results in other ways.  A profile is
// only made when nothing differs.  Throws Refused or RunError when the model itself takes no run, CannotRun
// when the graph uses something that LibTorch does not have, and MissingInput.
Verification verify_graph(const Engine& engine, const GraphCollection& collection,
                          const TraceOptions& trace_options, const Load& load, const VerifyOptions& options,
                          const GivenInputs& given, const Load& other = {});

}  // namespace fxtrace::verify
