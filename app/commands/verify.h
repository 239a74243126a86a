// fxtrace verify: does the graph compute what the model computes.
#pragma once

#include "app/commands/command.h"

namespace fxtrace::cli {

Command make_verify_command(CLI::App& parent);

}  // namespace fxtrace::cli
