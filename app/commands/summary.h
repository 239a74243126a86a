// fxtrace summary: what a model is and what it costs, on one screen.
#pragma once

#include "app/commands/command.h"

namespace fxtrace::cli {

Command make_summary_command(CLI::App& parent);

}  // namespace fxtrace::cli
