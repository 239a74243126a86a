// Reads the model or collection that a command was given, and fits the configuration to its kind.
#pragma once

#include "app/console.h"
#include "app/output/files.h"
#include "app/process/isolation.h"
#include "archive/file_kind.h"
#include "fxtrace/pipeline.h"
#include "fxtrace/saved_collection.h"
#include "trace/options/config.h"
#include "trace/search/trace_program.h"

namespace fxtrace::internal::cli {

// Traces a TorchScript archive or an exported program; warnings and notes go to the console.  model.file and
// options_json are filled in.  If the configuration is strict, throws Error(kUsage) for an option without
// effect.  `isolated` owns the result.
TraceResult& trace_file(const InputFile& input, const FileInfo& info, const Config& config,
                        const TraceRequest& wanted, Isolated& isolated, Console& console);

// Returns the configuration for a trace that computes costs, which need the operators inside of every module:
// without default leaves, unless the user says which modules are leaves.  TorchScript without --input keeps
// the default leaves, since control flow in modules of torch.nn cannot be followed without shapes.
Config config_for_costs(Config config, FileKind kind);

// Makes the trace enter everything, so that the graph consists of operators only.
void enter_everything(TraceOptions& options);

// Returns the configuration without the options that only files of the other kind take: --model for
// TorchScript; --input, and --dim for its dimensions, for exported programs.
Config config_for(Config config, FileKind kind);

// Returns whether the file begins as a collection's JSON does; read_collection_file() checks the rest.
bool may_be_collection(const InputFile& input, const FileInfo& info);

// Reads the JSON that `fxtrace trace` wrote; warns on the console of ignored fields.  Throws Error(kInput).
GraphCollection read_collection_file(const InputFile& input, Console& console);

// Reads the JSON that `fxtrace trace` wrote, for a command that takes models too.  Throws Error(kUsage) if
// options of a trace are given, as they do not apply, and Error(kInput).
GraphCollection read_saved_collection(bool has_trace_options, const InputFile& input, Console& console);

// Returns a listener that writes to the console.
Listener listener_of(Console& console);

}  // namespace fxtrace::internal::cli
