#include "interpreter/load.h"

#include <utility>

#include "interpreter/evaluate/abstract_calls.h"
#include "interpreter/graph/interpreter.h"
#include "interpreter/program/provided_operators.h"
#include "interpreter/program/torchscript_archive.h"
#include "interpreter/program/torchscript_program.h"

namespace fxtrace::internal::interpreter {
namespace {

class LoadedProgram final : public TorchScriptProgram {
 public:
  // States are followed symbolically, so that numbers and flags are there and packed parameters are known to
  // exist.
  LoadedProgram(std::unique_ptr<TorchScriptArchive> archive, const TraceOptions& options,
                const SpentUnits& spent)
      : TorchScriptProgram(std::move(archive)) {
    Budget budget(options.limits, file_size(), spent);
    ObjectStates states(*this, options, budget);
    read_states([&](const auto& object, const Value& state) { states.set(object, state); }, states.made());
  }
  std::unique_ptr<BoundProgram> bind(const TraceOptions& options, const SpentUnits& spent) const override {
    return std::make_unique<BoundTorchScriptProgram>(*this, options, spent);
  }
};

}  // namespace

std::unique_ptr<const Program> make_program(std::unique_ptr<TorchScriptArchive> archive,
                                            const TraceOptions& options, const SpentUnits& spent) {
  return std::make_unique<const LoadedProgram>(std::move(archive), options, spent);
}

std::unique_ptr<const Program> load_torchscript(const FileInfo& info, const TraceOptions& options,
                                                const Listener& listener, const SpentUnits& spent) {
  auto archive = std::make_unique<TorchScriptArchive>(info);
  archive->load();
  warn_of(provide_operators(*archive, options), listener);
  return make_program(std::move(archive), options, spent);
}

}  // namespace fxtrace::internal::interpreter
