// Running graph passes, and telling what they did.
#pragma once

#include <string>
#include <vector>

#include "app/console.h"
#include "graph/graph_collection.h"

namespace CLI {
class App;
}

namespace fxtrace::cli {

// The option --list-passes, which ends the run.
void add_list_of_passes(CLI::App& app);

// Throws Error(kUsage) for a name that no pass has.
void check_passes(const std::vector<std::string>& names);

// In that order.  What they left as it was is told on the console.
void run_passes(const std::vector<std::string>& names, GraphCollection& collection, Console& console);

// Puts passes that a saved collection went through behind those of its options.
void add_to_options(const std::vector<std::string>& names, GraphCollection& collection);

}  // namespace fxtrace::cli
