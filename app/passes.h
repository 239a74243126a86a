// Runs graph passes and reports what they did.
#pragma once

#include <string>
#include <vector>

#include "app/console.h"
#include "graph/graph_collection.h"

namespace CLI {
class App;
}

namespace fxtrace::cli {

// Adds the option --list-passes, which ends the run.
void add_list_of_passes(CLI::App& app);

// Runs passes in order, and reports on the console what they left unchanged.
void run_passes(const std::vector<std::string>& names, GraphCollection& collection, Console& console);

}  // namespace fxtrace::cli
