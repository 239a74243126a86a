// What a command of the command line is, and the list of them.
#pragma once

#include <functional>

#include "app/console.h"

namespace fxtrace::internal::cli {

// The type of a command of the command line.

// Runs a command with its parsed options; returns the exit code (cli.h) or throws Error.
using Command = std::function<int(Console&)>;

}  // namespace fxtrace::internal::cli

// The commands, each in the file of its name (trace_command.cpp); command_line.cpp lists them.  Each function
// gives `app`, which has its name already, a description and options, and returns the function that runs the
// command.

namespace CLI {
class App;
}  // namespace CLI

namespace fxtrace::internal::cli {

// Traces a model and writes the collection of graphs.
Command make_trace_command(CLI::App& app);
// Renders a model or a collection as a picture, or in another format.
Command make_render_command(CLI::App& app);
// Shows structure and costs of a model on one screen.
Command make_summary_command(CLI::App& app);
// Shows the kind of a file, and the modules of a model with their treatment in a trace.
Command make_inspect_command(CLI::App& app);
// Reports the differences between two models.
Command make_diff_command(CLI::App& app);
// Explains why modules failed or are leaves, and which options would help.
Command make_why_command(CLI::App& app);
// Reads many models into one database.
Command make_catalog_command(CLI::App& app);
// Runs SQL on such a database.
Command make_query_command(CLI::App& app);
// Prints a JSON schema.
Command make_schema_command(CLI::App& app);
// Shows in which order a model uses its modules and parameters.
Command make_order_command(CLI::App& app);
// Writes a part of a model as a collection.
Command make_extract_command(CLI::App& app);
// Converts a model to an exported program.
Command make_convert_command(CLI::App& app);
// Shows what backends take of a model.
Command make_partition_command(CLI::App& app);
// Checks a model against rules.
Command make_check_command(CLI::App& app);
// Writes a bill of materials.
Command make_bom_command(CLI::App& app);
// Verifies that the graph computes what the model computes.
Command make_verify_command(CLI::App& app);

}  // namespace fxtrace::internal::cli
