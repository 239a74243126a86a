// Options that may help a trace in which modules failed: trial traces, and the hint after a trace.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/graph_collection.h"
#include "trace/options/options.h"
#include "trace/search/trace.h"
#include "trace/tracer/program.h"

namespace fxtrace::internal {

// Candidate options for a trace in which modules failed, and trial traces with them.

// An option that a trial adds to those of the user.
struct AddedOption {
  std::string name;   // as on the command line: "--dim"
  std::string value;  // "batch=1.."; empty for a flag
  std::string about;  // the subject that it decides: "input x"; two of one subject are never combined
};
using AddedOptions = std::vector<AddedOption>;
// Returns the options as on the command line, quoted for a shell.
std::vector<std::string> option_texts(const AddedOptions& options);

// Options that the user did not give.
struct CandidateOptions {
  AddedOptions defaults;                // --defaults needed
  AddedOptions param_shapes_constant;   // empty for a model without parameters
  std::vector<AddedOptions> not_empty;  // ranges of named dimensions: from 1 on, then from 2 on
  AddedOptions values;                  // --concrete, for inputs without a default
  // --input for all inputs that can be guessed, several ranks each: with names for unknown sizes, then with
  // numbers.
  std::vector<AddedOptions> inputs;
  AddedOptions control_flow;  // --control-flow subgraph
};
CandidateOptions candidate_options(const Program& program, const TraceOptions& options);

// Returns a dummy input for each tensor input that no option mentions and that has no default, with sizes
// that are common; empty when the code does not determine all of them.
AddedOptions common_inputs(const Program& program, const TraceOptions& options);

// Returns the number of nodes of all graphs, without those of control flow.
std::size_t count_nodes_of_graphs(const GraphCollection& collection);

// A trace with more nodes is not tried with other options.
inline constexpr std::size_t kMaxTriedNodes = 20'000;

// Runs trial traces with added options, within a bound on the work of all of them.
class OptionTrials {
 public:
  struct Bounds {
    std::size_t traces, nodes;
  };
  // `trace` has the options of the user alone; what it refers to must outlive this.
  OptionTrials(const FinishedTrace& trace, Bounds bounds);

  // Returns the result of a trace with the added options.  Returns nothing when the options do not fit the
  // model, when a bound of the trial and not of the user decided the result, or when the work is used up.
  std::optional<GraphCollection> trace_with(const AddedOptions& additions);

 private:
  FinishedTrace trace_;
  Bounds left_;
  // Paths of the modules of the trace that a limit stopped, with that limit.
  std::unordered_map<std::string_view, Limit> at_limit_;
};

// Hints: options that would have helped a trace with failures, found by tracing again with them.

// Returns the smallest set of options with which the fewest modules fail; nothing when no option that was
// tried helps, or when the trace is too large to try.  Takes up to a dozen traces, none when no module
// failed.
std::optional<Hint> find_hint(const FinishedTrace& trace);

// Returns options that describe, with sizes that are common for such models, each tensor input of the method
// that no option mentions: "--input x=float32[1,3,224,224]".  Empty when the code does not determine all of
// them.
std::vector<std::string> guess_input_options(const Program& program, const TraceOptions& options);

}  // namespace fxtrace::internal
