// The commands, each in a file of its name (trace_command.cpp); command_line.cpp lists them.
#pragma once

#include "app/commands/command.h"

namespace fxtrace::cli {

// A model in, a collection of graphs out.
Command make_trace_command(CLI::App& parent);
// A model or a collection in, a picture out, or the collection in another format.
Command make_render_command(CLI::App& parent);
// What a model is and what it costs, on one screen.
Command make_summary_command(CLI::App& parent);
// What a file is, and the modules of a model with what a trace does to them.
Command make_inspect_command(CLI::App& parent);
// What differs between two models.
Command make_diff_command(CLI::App& parent);
// Does the graph compute what the model computes.
Command make_verify_command(CLI::App& parent);

}  // namespace fxtrace::cli
