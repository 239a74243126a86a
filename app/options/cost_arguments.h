// The options of commands that show costs: --at for sizes, and --cost for the user's own operators.
#pragma once

#include <vector>

#include "costs/at_sizes.h"

namespace CLI {
class App;
}  // namespace CLI

namespace fxtrace::internal::cli {

struct CostArguments {
  std::vector<GivenSizes> at;

  void add_to(CLI::App& app, const char* group);
};

}  // namespace fxtrace::internal::cli
