// Operators that an archive calls and no table has: declared, so that its code can be compiled.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "torchscript/torchscript_archive.h"
#include "trace/options.h"

namespace fxtrace::torchscript {

// Makes every operator and every method of a class of torch.classes known that the code calls.  Those whose
// results cannot be told are not followed (TorchScriptArchive).  Gives back warnings.  Throws
// Error that says which schema is wrong.
std::vector<std::string> provide_operators(TorchScriptArchive& archive, const TraceOptions& options);

// Schemas that the calls in the code make plain, for operators without one and for methods of declared
// classes.
struct InferredSchema {
  std::string name;        // "pkg::op", or a method's qualified name
  std::string class_name;  // of a method
  std::string schema;      // complete, or with "?" where a result's type is not plain
  bool complete = false;
  std::vector<std::pair<std::string, script::SourceRange>> callers;  // functions, and the call in each
};
std::vector<InferredSchema> infer_schemas(TorchScriptArchive& archive, const std::vector<std::string>& names);

}  // namespace fxtrace::torchscript
