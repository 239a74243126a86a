// The door to TorchScript.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "archive/file_kind.h"
#include "archive/model_file.h"
#include "trace/front_end.h"

namespace fxtrace::torchscript {

// What libraries of custom operators register.
struct RegisteredOperators {
  struct Method {
    std::string class_name;  // "__torch__.torch.classes.pkg.Class"
    std::string schema;      // "method(__torch__.torch.classes.pkg.Class self, int n) -> int"
  };
  std::vector<std::string> schemas;  // "pkg::op(Tensor x) -> Tensor", known ones among them
  std::vector<Method> methods;
};

// Loads the TorchScript archive, of which `info` says what identify_file() found, without reading weights and
// without running model code.  Throws Error.
std::unique_ptr<const Program> load_torchscript(const ModelFile& file, const FileInfo& info,
                                                const TraceOptions& options,
                                                const RegisteredOperators& registered,
                                                const Listener& listener);

TraceResult trace_torchscript(const ModelFile& file, const FileInfo& info, const TraceOptions& options,
                              const RegisteredOperators& registered, const Wanted& wanted,
                              const Listener& listener);

}  // namespace fxtrace::torchscript
