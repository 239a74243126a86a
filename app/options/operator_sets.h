// Sets of operators by name or file, and the graph that backends are asked about.
#pragma once

#include <string>

#include "app/console.h"
#include "app/options/model.h"
#include "partition/operator_set.h"
#include "rules/rule.h"

namespace fxtrace::internal::cli {

// Reads a set that the program contains, or else a file, as a rule that it takes every operator.  Throws
// Error(kUsage).
Rule read_backend(const std::string& name, Console& console);
// Returns the set of a rule of kBackend.  Throws Error(kUsage).
OperatorSet set_of(const Rule& rule);

// Sets what a graph is traced with that backends are asked about: operators alone, for inference.
void ask_for_operators(TraceOptions& options);
// Returns the functional graph of operators of a model or of a saved collection.
GraphCollection operators_of(const Config& config, const InputFile& input, const FileInfo& info,
                             Isolated& isolated, Console& console);

}  // namespace fxtrace::internal::cli
