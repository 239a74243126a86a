// The strides of the tensors of a program, which compilers read.
#pragma once

#include "trace/modules/program_graph.h"

namespace fxtrace {

// Sets the strides of all that operations give, as torch lays it out on a CPU: by rules for views, for what
// keeps the order of its inputs and for memory formats; contiguous where no rule tells.  Those of the graph's
// inputs are there.
void add_strides(ProgramGraph& graph);

}  // namespace fxtrace
