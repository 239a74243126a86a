// The commands, each in a file of its name (trace_command.cpp); command_line.cpp lists them.
#pragma once

#include "app/commands/command.h"

namespace fxtrace::cli {

// Traces a model and writes the collection of graphs.
Command make_trace_command(CLI::App& parent);
// Renders a model or a collection as a picture, or in another format.
Command make_render_command(CLI::App& parent);
// Shows structure and costs of a model on one screen.
Command make_summary_command(CLI::App& parent);
// Shows the kind of a file, and the modules of a model with the trace's treatment of them.
Command make_inspect_command(CLI::App& parent);
// Tells what differs between two models.
Command make_diff_command(CLI::App& parent);
// Tells why modules failed, or are what they are, and what would help.
Command make_why_command(CLI::App& parent);
// Reads many models into one database.
Command make_catalog_command(CLI::App& parent);
// Asks such a database.
Command make_query_command(CLI::App& parent);
// Prints a JSON schema.
Command make_schema_command(CLI::App& parent);
// Shows in which order a model uses its modules and parameters.
Command make_order_command(CLI::App& parent);
// Makes a part of a model a collection of its own.
Command make_extract_command(CLI::App& parent);
// Holds a model to rules.
Command make_check_command(CLI::App& parent);
// Verifies that the graph computes what the model computes.
Command make_verify_command(CLI::App& parent);

}  // namespace fxtrace::cli
