// fxtrace diff: what differs between two models.
#pragma once

#include "app/commands/command.h"

namespace fxtrace::cli {

Command make_diff_command(CLI::App& parent);

}  // namespace fxtrace::cli
