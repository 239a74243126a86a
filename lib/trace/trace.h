// The whole trace: the root's graph, then, for every module that failed, the graphs of its direct submodules.
#pragma once

#include <string>
#include <vector>

#include "graph/graph_collection.h"
#include "trace/options.h"
#include "trace/program.h"

namespace fxtrace {

struct TraceResult {
  GraphCollection collection;  // model.file and options_json are the caller's to fill
  std::vector<std::string> warnings;
  std::vector<std::string> misfits;  // options that did nothing: rules that matched nothing, ...
  std::vector<std::string> notes;    // what was assumed of inputs
};

// Never throws for what the model cannot do: that is `failure` in the collection.  Throws Error for wrong
// options.
TraceResult trace(Program& program, const TraceOptions& options);

// What trace() says of the modules and parameters, without a trace: no graphs, and all modules unvisited.
GraphCollection describe(Program& program, const TraceOptions& options);

}  // namespace fxtrace
