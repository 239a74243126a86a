// Runs a whole trace: the root's graph, then, for every module that failed, the graphs of its direct
// submodules.
//
// A module whose forward cannot be followed is a leaf of the graph that calls it.  Its submodules may well be
// traceable, so each direct submodule of a failed module gets a graph of its own, level by level, until no
// module that failed has submodules without a graph.
//
// 1. A module has at most one graph, under its first path.  The graph of a module that failed itself, or that
//    a leaf rule makes a leaf, is a stub: its placeholders, one call of the module, and the output.
// 2. Containers without a forward (ModuleList) get no graph; their children count as direct submodules of the
//    module around them.
// 3. Graphs are in this order: the root, then level after level; within a level, failed modules in pre-order
//    of the model, and their submodules in registration order.
// 4. Failed modules only become more.  The exception is an attempt that is void (InputsAsked, TraceAgain):
//    failures found during it are dropped, because with other inputs the code may take another path.
// 5. A graph is valid while no module that is inlined in it has failed, it is a stub exactly if its module is
//    a leaf, and BoundProgram::inputs_changed() is false.  Invalid graphs are traced again, and all levels
//    are walked again, until a walk traces nothing.  This ends: by 4. modules only ever turn into leaves, and
//    the inputs of a module depend only on the graphs of modules around it.
// 6. After a graph is recorded, alias_check.h may still refuse it: then the module whose
//    code is at fault fails, and the graph is traced again with it as a leaf.
//
// Example: the root calls self.encoder and self.head.  The encoder runs the two blocks of its ModuleList
// `layers`, and then an `if` on the elements of a tensor.  The second block calls an operator that fxtrace
// does not know.
//
//   level 0  ""                 the encoder is followed up to its `if`, so that layers.1 fails on the way;
//                               then the encoder fails too: its nodes are taken back, and it is a leaf
//   level 1  encoder.layers.0   has a graph; layers itself has no forward (2.)
//            encoder.layers.1   has failed, as level 0 found out: a stub
//   level 2  the direct submodules of encoder.layers.1
//
// If encoder.layers.0 had failed only at level 1 and were also inlined in the root's graph, that graph would
// be invalid (5.) and traced again.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fxtrace/listener.h"
#include "graph/graph_collection.h"
#include "trace/options/options.h"
#include "trace/tracer/program.h"

namespace fxtrace::internal {

// Options that would have helped, found by trying them.
struct Hint {
  std::vector<std::string> options;  // as on a command line, quoted for a shell
  bool has_inputs = false;           // --input is among them
  std::size_t failed = 0;            // modules that still fail with them
};

// The outcome of a trace: plain data that refers neither to the file nor to LibTorch, and the program that it
// was made from.
struct TraceResult {
  GraphCollection collection;  // the caller fills in model.file and options_json
  ModelDescription description;
  std::vector<Diagnostic> warnings;
  std::vector<Diagnostic> unfollowed_options;  // requests of options that could not be carried out
  std::vector<Diagnostic> unmatched_options;   // options that did nothing: rules that matched nothing, ...
  std::vector<std::string> notes;              // assumptions about inputs, and the state that forward keeps
  std::optional<Hint> hint;
  std::vector<std::string> input_options;  // guess_input_options(), if wanted
  std::string load_time, trace_time;       // "1.5 ms"; trace_time includes costs
  std::shared_ptr<const Program> program;  // the program that was traced, kept alive
  SpentUnits spent;                        // of this trace, for others of the same file
};

// A trace, for trials with other options.
struct FinishedTrace {
  const Program& program;
  const TraceOptions& options;
  const GraphCollection& result;
  SpentUnits spent = nullptr;  // by all traces of the file; null: each has a budget of its own
};

// Traces the model.  A model that cannot be followed is not an error: its modules have a `failure` in the
// collection.  Throws Error for wrong options.  `described` asks for the description; the hint is left to the
// caller.
TraceResult trace(const Program& program, const TraceOptions& options, bool described = false,
                  const SpentUnits& spent = nullptr);

// Returns the modules and parameters as trace() does, without tracing: no graphs, and all modules unvisited.
TraceResult describe(const Program& program, const TraceOptions& options);

// Traces a program of any front end and works out the rest of the result: costs, hints, description.

using fxtrace::Listener;

// The parts of the result that are wanted besides the graphs.
struct TraceRequest {
  bool description = false;
  bool hint = false;
  bool input_options = false;
  // If the options name no method and the root has no forward, describe modules and parameters instead of
  // failing.
  bool graphs_if_any = false;
  bool costs = true;  // of nodes and graphs
  // The program, if another trace of the file has read it already.
  std::shared_ptr<const Program> loaded = nullptr;
  SpentUnits spent = nullptr;
};

// Calls listener.warning() for each warning.  When more than three have the same id, only the first is
// reported, with their number, and the others go to listener.progress().
void warn_of(const std::vector<Diagnostic>& warnings, const Listener& listener);

// Traces the program and works out the parts that `wanted` names.  The result keeps the program
// alive.
TraceResult trace_program(std::shared_ptr<const Program> program, const TraceOptions& options,
                          const TraceRequest& wanted, const Listener& listener);

}  // namespace fxtrace::internal
