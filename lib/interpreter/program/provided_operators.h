// Declares operators that an archive calls but that no table has, so that its code can be compiled.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "interpreter/program/torchscript_archive.h"
#include "trace/options/options.h"

namespace fxtrace::interpreter {

// Declares every operator, and every method of a class of torch.classes, that the code calls.  Functions that
// call one whose results cannot be inferred are not followed (TorchScriptArchive::NotFollowed).  Returns
// warnings.  Throws Error, which names the schema, for a wrong schema.
std::vector<Diagnostic> provide_operators(TorchScriptArchive& archive, const TraceOptions& options);

// A schema inferred from the calls in the code, for an operator without one or a method of a declared class.
struct InferredSchema {
  std::string name;        // "pkg::op", or a method's qualified name
  std::string class_name;  // the class of a method; empty for an operator
  std::string schema;      // complete, or with "?" for a result type that cannot be inferred
  bool complete = false;
  std::vector<std::pair<std::string, torchscript::SourcePlace>> callers;  // functions, and the call in each
};
// Returns the schemas of these operators, and of methods of declared classes, that the calls tell.  To be
// called before any function of the archive is compiled, which drops its syntax.
std::vector<InferredSchema> infer_schemas(TorchScriptArchive& archive, const std::vector<std::string>& names);

}  // namespace fxtrace::interpreter
