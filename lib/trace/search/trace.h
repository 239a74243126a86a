// Runs a whole trace: the root's graph, then, for every module that failed, the graphs of its direct
// submodules.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph_collection.h"
#include "trace/options/options.h"
#include "trace/tracer/diagnostic.h"
#include "trace/tracer/program.h"

namespace fxtrace {

// Options that would have helped, found by trying them.
struct Hint {
  std::vector<std::string> options;  // as on a command line, quoted for a shell
  bool has_inputs = false;           // --input is among them
  std::size_t failed = 0;            // modules that still fail with them
};

// The outcome of a trace: plain data that refers neither to the file nor to LibTorch, and the program that it
// was made from.
struct TraceResult {
  GraphCollection collection;  // model.file and options_json are the caller's to fill
  ModelDescription description;
  std::vector<Diagnostic> warnings;
  std::vector<Diagnostic> undone;   // what options ask for and could not be done, as some module failed to
  std::vector<Diagnostic> misfits;  // options that did nothing: rules that matched nothing, ...
  std::vector<std::string> notes;   // what was assumed of inputs
  std::optional<Hint> hint;
  std::vector<std::string> input_options;  // guess_input_options(), if wanted
  std::string load_time, trace_time;       // "1.5 ms"; costs are in the second
  std::shared_ptr<const Program> program;  // what was traced; kept alive by this
  std::shared_ptr<std::int64_t> spent;     // TraceOptions::spent of this trace; null where it shares none
};

// Traces the model.  A model that cannot be followed is not an error: see `failure` in the collection. Throws
// Error for wrong options.  `described` asks for the description; the hint is left to the caller.
TraceResult trace(const Program& program, const TraceOptions& options, bool described = false);

// Returns the modules and parameters as trace() does, without tracing: no graphs, and all modules unvisited.
TraceResult describe(const Program& program, const TraceOptions& options);

}  // namespace fxtrace
