// Traces a program of any front end and works out the rest of the result: costs, hints, description.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fxtrace/listener.h"
#include "trace/options/options.h"
#include "trace/search/trace.h"
#include "trace/tracer/program.h"

namespace fxtrace::internal {

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
