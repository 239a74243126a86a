// fxtrace inspect: what a file is, and the modules of a model with what a trace does to them.
#pragma once

#include "app/commands/command.h"

namespace fxtrace::cli {

Command make_inspect_command(CLI::App& parent);

}  // namespace fxtrace::cli
