// Operators that an archive calls and LibTorch does not know: registered from a library, or only declared.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "trace/options.h"

namespace fxtrace {

using CodeFiles = std::vector<std::pair<std::string, std::string>>;  // record, text

// Makes every operator known that `code` calls.  Gives back warnings.  Throws Error that lists all unknown
// operators at once, or says which library or schema is wrong.
std::vector<std::string> provide_operators(const CodeFiles& code, const TraceOptions& options);

// Schemas that the calls in `code` make plain, for operators without one: name -> schema, or an explanation
// of what is not plain.
struct InferredSchema {
  std::string name;    // "pkg::op"
  std::string schema;  // complete, or with "?" where a type is not plain
  bool complete = false;
};
std::vector<InferredSchema> infer_schemas(const CodeFiles& code, const std::vector<std::string>& names);

}  // namespace fxtrace
