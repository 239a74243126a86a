// Configurations for what is asked of a model.
#pragma once

#include "archive/file_kind.h"
#include "trace/options/config.h"

namespace fxtrace::internal {

// Returns the configuration for a trace that computes costs, which need the operators inside of every module:
// without default leaves, unless the user says which modules are leaves.  TorchScript without --input keeps
// the default leaves, since control flow in modules of torch.nn cannot be followed without shapes.
Config config_for_costs(Config config, FileKind kind);

// Makes the trace enter everything, so that the graph consists of operators only.
void enter_everything(TraceOptions& options);

// Returns the configuration without the options that only files of the other kind take: --model for
// TorchScript; --input, and --dim for its dimensions, for exported programs.
Config config_for(Config config, FileKind kind);

// Makes the trace one of operators as backends take them.
void ask_for_operators(TraceOptions& options);

}  // namespace fxtrace::internal
