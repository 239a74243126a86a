#include "torchscript/load.h"

#include <utility>

#include "torchscript/provided_operators.h"
#include "torchscript/torchscript_archive.h"
#include "torchscript/torchscript_program.h"

namespace fxtrace::torchscript {

std::unique_ptr<const Program> load_torchscript(const FileInfo& info, const TraceOptions& options,
                                                const Listener& listener) {
  auto archive = std::make_unique<TorchScriptArchive>(info);
  warn_of(provide_operators(*archive, options), listener);
  archive->load();
  return std::make_unique<const TorchScriptProgram>(std::move(archive), options);
}

}  // namespace fxtrace::torchscript
