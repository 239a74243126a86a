// The layout of --help: an example first, then usage, then options in aligned columns.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace fxtrace::cli {

// Formats `app`: its footer is the example.  For all commands of an app, set once at the top.
std::string format_help(const CLI::App* app);

}  // namespace fxtrace::cli
