// Verification: runs a traced graph beside its model on the same inputs, and compares.
//
// Verifier runs these steps, and stops at the first difference (Fault):
// 1. It makes inputs: given ones, samples of the file, or random ones, in sizes that satisfy the guards if
//    such are found.
// 2. The model runs as its file defines it.  Random integers that it refuses as indices are drawn anew from a
//    range that fits; runs whose drawn sizes it refuses are left out, as long as one run is left.
// 3. The guards of the graph are evaluated for the inputs (kGuard).
// 4. The graph runs node by node (kFails), the shape and dtype of each tensor are compared with the metadata
//    of its node (kMeta), and after each run the result and the inputs with those of the model's run, after
//    the last run the buffers, too (kValue).
// 5. For kValue, both run again to find the first node whose value the model never makes.
//
// Invariants:
// 1. The model and the graph share no values.  Each side loads its own model and gets its own copies of the
//    inputs; the seed of random operators is the same before both runs.
// 2. The model runs first.  A failure of the model is not a fault of the graph: it throws.
// 3. State is carried from run to run: one loaded model serves all runs of a side.  So there are two runs at
//    least if the graph writes attributes, or is compared with another file's model.
// 4. With both tolerances 0 elements are compared bit for bit, else as |a - b| <= absolute + relative * |b|.
//    Nodes (step 5) are always compared by digests, bit for bit.
// 5. A symbolic size is computed from the sizes of the inputs.  A symbol that only the run knows is bound at
//    its first occurrence in the root's graph, and has to be the same from there on.
// 6. A value of another kind than tensors, numbers, texts and containers is not compared: kCannotTell.
//
// Example: forward returns relu(x @ w) + 1, and the graph has 2 in the place of 1.
//
//     the model's run      digests of x @ w, of relu and of the sum are noted (step 5)
//     %mm                  digest is among them
//     %relu                digest is among them
//     %add                 digest is not: kValue at %add, with the source line of the node
//
// Before that, step 4 has found the fault at the place "result", with the number of elements that differ and
// the greatest difference.
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

namespace fxtrace::internal::verify {

struct VerifyOptions {
  std::int64_t runs = 1;
  std::uint64_t seed = 0;
  double absolute = 0, relative = 0;  // tolerances; both 0: bit for bit
  bool profiles = false;
};

// A difference between the graph and the model.
struct Fault {
  enum class Kind {
    kValue,  // elements, shape or dtype differ from the model's
    kMeta,   // shape or dtype differ from the graph's metadata
    kGuard,  // a guard of the graph does not hold for the inputs
    kFails   // the graph cannot be run
  };
  Kind kind = Kind::kValue;
  std::int64_t run = 0;
  std::string what;  // "it is float32[2,3], but the graph says float32[2,4]"
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
  kCannotTell,  // a result is of a kind that is not compared
  kNotVerified  // the graph is a call of the whole model
};
const char* to_string(Verdict verdict);      // "not equal"
std::string sizes_text(const Sizes& sizes);  // "batch=3, seq=8"

// A run whose drawn sizes the model refuses.
struct Refusal {
  Sizes sizes;
  std::string what;  // the model's message
};

// Thrown if the model refuses all runs.
struct Refused : RunError {
  Refused(const std::string& what, Sizes drawn) : RunError(what), sizes(std::move(drawn)) {}
  Sizes sizes;  // sizes of the last run
};

struct Verification {
  std::int64_t runs = 0;                            // compared runs
  std::int64_t nodes = 0, tensors = 0, guards = 0;  // numbers in one run; guards that the inputs decide
  std::vector<std::string> sizes;                   // by run: "batch=3, seq=8"
  std::vector<InputOrigin> origins;                 // by run
  // Modules that the graph calls.  They run as the model has them, so nothing inside is verified.
  std::vector<std::string> own_modules;     // paths, in the order of their first calls
  std::vector<std::string> failed_modules;  // own_modules that failed to trace
  std::vector<Refusal> refusals;            // refused runs, which do not count in `runs`
  std::optional<Fault> fault;
  std::string why;                 // for kCannotTell and kNotVerified: the reason
  bool calls_whole_model = false;  // whether the graph is a call of the whole model
  std::optional<Profile> profile;  // a profile for the inputs of the first run, if asked for

  Verdict verdict() const;
};

// Returns the verification of a graph that calls the model as a whole, because the root is a leaf or failed
// to trace: nothing is verified, whether it runs or not.  Returns nothing for other graphs.
std::optional<Verification> not_verified(const GraphCollection& collection);

using Load = std::function<std::unique_ptr<RunnableModel>()>;

// Verifies the collection's first graph, that of the model's root.  `load` returns a freshly loaded model.
// With `other` the graph is compared with that model, which is of another file, in two runs at least; as both
// may compute the same results in different ways, a differing node is looked for module by module.  A profile
// is only made if nothing differs.  Throws Refused or RunError if the model refuses all runs, CannotRun if
// the graph uses a function that LibTorch does not have, and MissingInput.
Verification verify_graph(const Engine& engine, const GraphCollection& collection,
                          const TraceOptions& trace_options, const Load& load, const VerifyOptions& options,
                          const GivenInputs& given, const Load& other = {});

}  // namespace fxtrace::internal::verify
