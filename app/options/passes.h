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

namespace fxtrace::cli {

// Adds the option --list-passes, which ends the run.
void add_list_of_passes(CLI::App& app);

// Runs passes in order, and reports on the console what they left unchanged.
void run_passes(const std::vector<std::string>& names, GraphCollection& collection, Console& console);

// What --strict takes for a failure: modules that failed to trace, and writes that stay where a pass was to
// remove them.  Nothing when all went well.
std::optional<std::string> strict_failure(const std::vector<std::string>& passes,
                                          const GraphCollection& collection);

}  // namespace fxtrace::cli
