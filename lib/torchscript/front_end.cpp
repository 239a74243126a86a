#include "torchscript/front_end.h"

#include <utility>

#include "torchscript/archive.h"
#include "torchscript/custom_classes.h"
#include "torchscript/declarations.h"
#include "torchscript/operators.h"
#include "torchscript/torchscript_program.h"

namespace fxtrace {

std::unique_ptr<const Program> load_torchscript(const ModelFile& file, const FileInfo& info,
                                                const TraceOptions& options, const Listener& listener) {
  std::unique_ptr<const Program> program;
  with_large_stack([&] {
    auto archive = std::make_unique<TorchScriptArchive>(file, info.root);
    auto declarations = std::make_unique<Declarations>();
    for (const std::string& pickle : archive->pickles()) declare_classes(pickle);
    warn_of(provide_operators({archive->code(), archive->constant_types()}, options, archive->edits(),
                              *declarations),
            listener);
    archive->load();
    program =
        std::make_unique<const TorchScriptProgram>(std::move(archive), std::move(declarations), options);
  });
  return program;
}

}  // namespace fxtrace

extern "C" __attribute__((visibility("default"))) void fxtrace_open_torchscript(
    const fxtrace::TraceOptions& options) {
  fxtrace::load_operator_libraries(options);
}

extern "C" __attribute__((visibility("default"))) void fxtrace_trace_torchscript(
    const fxtrace::ModelFile& file, const fxtrace::FileInfo& info, const fxtrace::TraceOptions& options,
    const fxtrace::Wanted& wanted, const fxtrace::Listener& listener, fxtrace::TraceResult& result) {
  using namespace fxtrace;
  result =
      trace_model([&] { return load_torchscript(file, info, options, listener); }, options, wanted, listener);
}
