// The door to exported programs.
#pragma once

#include <string>

#include "archive/file_kind.h"
#include "trace/front_end.h"

namespace fxtrace {

// The exported program, of which `info` says what identify_file() found.  Throws Error.
TraceResult trace_exported_program(const ModelFile& file, const FileInfo& info, const TraceOptions& options,
                                   const Wanted& wanted, const Listener& listener);

}  // namespace fxtrace
