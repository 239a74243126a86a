// remove-inplace: writes become new values (functionalization, as torch/_functorch and
// ATen/FunctionalTensorWrapper do it on tensors while they run; here on a graph).
#pragma once

#include "passes/pass.h"

namespace fxtrace {

// Every operator that writes becomes its functional twin.  Whoever reads the tensor afterwards reads the
// twin's result; views of it are made anew where they are read, a write through a view goes back into what
// the view is of by the inverse of the view (select_scatter, slice_scatter, ...), and what is written to an
// input or buffer of the model is copied there once, before the output.  All writes to memory that is not
// understood in full stay.
void remove_inplace(ModuleGraph& graph, PassContext& context);

}  // namespace fxtrace
