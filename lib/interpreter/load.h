// The entry point of this library: loads a TorchScript archive as a Program.
#pragma once

#include <memory>

#include "archive/file_kind.h"
#include "trace/search/trace.h"

namespace fxtrace::internal::interpreter {

class TorchScriptArchive;

// Loads a TorchScript archive without reading weights and without running model code.  `info` is the result
// of identify_file().  Throws Error; a trace of the program does so as well, for code that is only compiled
// then.
std::unique_ptr<const Program> load_torchscript(const FileInfo& info, const TraceOptions& options,
                                                const Listener& listener, const SpentUnits& spent = nullptr);
// Returns the program of an archive that is open.
std::unique_ptr<const Program> make_program(std::unique_ptr<TorchScriptArchive> archive,
                                            const TraceOptions& options, const SpentUnits& spent = nullptr);

}  // namespace fxtrace::internal::interpreter
