// fxtrace trace: a model in, a collection of graphs out.
#pragma once

#include "app/commands/command.h"

namespace fxtrace::cli {

Command make_trace_command(CLI::App& parent);

}  // namespace fxtrace::cli
