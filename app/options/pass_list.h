// The list of graph passes.
#pragma once

namespace CLI {
class App;
}

namespace fxtrace::internal::cli {

// Adds the option --list-passes, which prints the passes and ends the run.
void add_list_of_passes(CLI::App& app);

}  // namespace fxtrace::internal::cli
