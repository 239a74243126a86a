// Sets of operators that backends take, and the graph that they are asked about.
#pragma once

#include <string>

#include "partition/operator_set.h"
#include "pipelines/read_model.h"
#include "rules/rule.h"

namespace fxtrace::internal {

// Returns the error that neither a set nor a file has that name.
Error no_such_set(const std::string& name);

// Returns the set of a rule of kBackend.  Throws Error(kUsage).
OperatorSet set_of(const Rule& rule);
// Checks the set of a rule of kBackend; other rules are right.  Throws Error(kUsage).
void check_set(const Rule& rule);

// Returns the functional graph of operators of a model or of a saved collection.
GraphCollection operators_of(const Config& config, const NamedFile& file, const FileInfo& info, Run& run);

}  // namespace fxtrace::internal
