// Records the graph of a module of an exported program with the tracer.
#pragma once

#include "trace/graph_tracer.h"
#include "trace/program.h"

namespace fxtrace {

class BoundExportedProgram;

// The graph of the whole program when `root` is the model, else that of the first call of the module: what
// enters the call are its placeholders, what leaves it its output.  When `root_is_leaf`, placeholders, one
// call of the root, and the output.
void build_module_graph(const BoundExportedProgram& program, ModuleId root, bool root_is_leaf,
                        GraphTracer& tracer);

}  // namespace fxtrace
