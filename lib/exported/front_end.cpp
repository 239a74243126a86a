#include "exported/front_end.h"

#include <memory>

#include "exported/exported_program.h"

namespace fxtrace {

TraceResult trace_exported_program(const ModelFile& file, const FileInfo& info, const TraceOptions& options,
                                   const Wanted& wanted, const Listener& listener) {
  return trace_model([&] { return std::make_unique<const ExportedProgram>(file, info, options.model); },
                     options, wanted, listener);
}

}  // namespace fxtrace
