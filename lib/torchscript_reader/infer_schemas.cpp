#include "torchscript_reader/operators.h"

namespace fxtrace::torchscript {

std::vector<InferredSchema> infer_schemas(TorchScriptArchive& /*archive*/,
                                          const std::vector<std::string>& /*names*/) {
  return {};
}

}  // namespace fxtrace::torchscript
