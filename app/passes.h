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

// In that order.  What they left as it was is told on the console.
void run_passes(const std::vector<std::string>& names, GraphCollection& collection, Console& console);

}  // namespace fxtrace::cli
