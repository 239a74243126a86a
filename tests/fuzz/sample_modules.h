// A small module tree without anything to run, for leaf rules to decide.
#pragma once

#include "trace/options.h"
#include "trace/program.h"

namespace fxtrace::fuzz {

// Decides every module by the options' rules, which must have been read.  Throws Error(kUsage).
void decide_leaves(const TraceOptions& options);

}  // namespace fxtrace::fuzz
