// The recorder of exported programs: records the graph of one module with the tracer.
#pragma once

#include "trace/tracer/graph_tracer.h"
#include "trace/tracer/program.h"

namespace fxtrace::internal {

class BoundExportedProgram;

// Records the whole program when `root` is the model, else the first call of the module: values that enter
// the call become placeholders, and values that leave it become the output.  When `root_is_leaf`, records
// only the placeholders, one call of the root, and the output.
void build_module_graph(const BoundExportedProgram& program, ModuleId root, bool root_is_leaf,
                        GraphTracer& tracer);

}  // namespace fxtrace::internal
