// A small module tree that cannot be run, for leaf rules to decide.
#pragma once

#include "trace/options/options.h"
#include "trace/tracer/program.h"

namespace fxtrace::internal::fuzz {

// Decides every module by the rules of the options, which must have been read.  Throws Error(kUsage).
void decide_leaves(const TraceOptions& options);

}  // namespace fxtrace::internal::fuzz
