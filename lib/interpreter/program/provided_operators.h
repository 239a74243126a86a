// Declares operators that an archive calls but that no table has, so that its code can be compiled.
#pragma once

#include <vector>

#include "interpreter/program/torchscript_archive.h"
#include "trace/options/options.h"

namespace fxtrace::internal::interpreter {

// Declares every operator, and every method of a class of torch.classes, that the code calls.  Functions that
// call one whose results cannot be inferred are not followed (TorchScriptArchive::NotFollowed).  Returns
// warnings.  Throws Error, which names the schema, for a wrong schema.  To be called after load().
std::vector<Diagnostic> provide_operators(TorchScriptArchive& archive, const TraceOptions& options);

}  // namespace fxtrace::internal::interpreter
