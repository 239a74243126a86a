// Configurations for what is asked of a model, and of backends.
#pragma once

#include <string>

#include "archive/file_kind.h"
#include "partition/operator_set.h"
#include "pipelines/read_model.h"
#include "rules/rule.h"
#include "trace/options/options.h"

namespace fxtrace::internal {

// Configurations for what is asked of a model.

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

// Sets of operators that backends take, and the graph that they are asked about.

// Returns the error that neither a set nor a file has that name.
Error no_such_set(const std::string& name);

// Returns the set of a rule of kBackend.  Throws Error(kUsage).
OperatorSet set_of(const Rule& rule);
// Checks the set of a rule of kBackend; other rules are right.  Throws Error(kUsage).
void check_set(const Rule& rule);

// Returns the functional graph of operators of a model or of a saved collection.
GraphCollection operators_of(const Config& config, const NamedFile& file, const FileInfo& info, Run& run);

}  // namespace fxtrace::internal
