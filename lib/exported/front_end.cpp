#include "exported/front_end.h"

#include <memory>

#include "exported/exported_program.h"

namespace fxtrace {

TraceResult trace_exported_program(const std::string& path, const FileInfo& info, const TraceOptions& options,
                                   const Wanted& wanted, const Listener& listener) {
  return trace_model([&] { return std::make_unique<const ExportedProgram>(path, info, options.model); },
                     options, wanted, listener);
}

}  // namespace fxtrace
