// The layout of --help: an example first, then usage, then options in aligned columns.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace fxtrace::internal::cli {

// Formats the help of `app`; its footer is the example.  To be set once, at the top-level app.
std::string format_help(const CLI::App* app);

}  // namespace fxtrace::internal::cli
