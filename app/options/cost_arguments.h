// The options of commands that show costs: at which sizes, and what operators of the user's own cost.
#pragma once

#include <vector>

#include "app/console.h"
#include "costs/at_sizes.h"
#include "graph/graph_collection.h"
#include "trace/options/config.h"

namespace CLI {
class App;
}  // namespace CLI

namespace fxtrace::cli {

struct CostArguments {
  std::vector<GivenSizes> at;

  void add_to(CLI::App& app, const char* group);
  // Gives the collection the costs that are asked for, also one that was not traced with the configuration.
  // Throws Error(kUsage) for names that it does not have.
  void apply(const Config& config, GraphCollection& collection, Console& console) const;
  // Likewise for two, of which one at least has each name.
  void apply(const Config& config, GraphCollection& first, GraphCollection& second, Console& console) const;
};

}  // namespace fxtrace::cli
