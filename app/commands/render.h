// fxtrace render: a collection in, the same collection in another format out.
#pragma once

#include "app/commands/command.h"

namespace fxtrace::cli {

Command make_render_command(CLI::App& parent);

}  // namespace fxtrace::cli
