// fxtrace trace: a model in, a collection of graphs out.  fxtrace render: a model or a collection in, a
// picture out, or the collection in another format.
#pragma once

#include "app/commands/command.h"

namespace fxtrace::cli {

Command make_trace_command(CLI::App& parent);
Command make_render_command(CLI::App& parent);

}  // namespace fxtrace::cli
