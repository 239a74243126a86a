// The options of commands that show costs: --at for sizes, and --cost for the user's own operators.
#pragma once

#include <vector>

#include "app/console.h"
#include "costs/at_sizes.h"
#include "graph/graph_collection.h"
#include "trace/options/config.h"

namespace CLI {
class App;
}  // namespace CLI

namespace fxtrace::internal::cli {

struct CostArguments {
  std::vector<GivenSizes> at;

  void add_to(CLI::App& app, const char* group);
  // Computes the costs that the options ask for, also in a collection that was not traced with the
  // configuration.  Throws Error(kUsage) for names that the collection does not have.
  void apply(const Config& config, GraphCollection& collection, Console& console) const;
  // Does the same for two collections; each name must be in at least one of them.
  void apply(const Config& config, GraphCollection& first, GraphCollection& second, Console& console) const;
};

}  // namespace fxtrace::internal::cli
