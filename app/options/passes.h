// Runs graph passes and reports what they did.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/console.h"
#include "graph/graph_collection.h"

namespace CLI {
class App;
}

namespace fxtrace::internal::cli {

// Adds the option --list-passes, which prints the passes and ends the run.
void add_list_of_passes(CLI::App& app);

// Runs passes in order, and reports on the console the nodes that they left unchanged.
void run_passes(const std::vector<std::string>& names, GraphCollection& collection, Console& console);

// Returns a description of what --strict takes for a failure: modules that failed to trace, and writes that
// stay although a pass was to remove them.  Returns nothing when all went well.
std::optional<std::string> strict_failure(const std::vector<std::string>& passes,
                                          const GraphCollection& collection);

}  // namespace fxtrace::internal::cli
