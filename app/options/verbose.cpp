#include "app/options/verbose.h"

#include <CLI/CLI.hpp>

#include "support/log.h"

namespace fxtrace::internal::cli {

void VerboseArgument::add_to(CLI::App& app) {
  app.add_flag("-v,--verbose", verbose_, "report progress and timings on stderr")->group("Output");
}

void VerboseArgument::add_timings_to(CLI::App& app) {
  app.add_flag("--timings", timings_, "report on stderr how long loading, tracing, passes and writing took")
      ->group("Output");
}

void VerboseArgument::set_up_log(Console& console) const {
  log::set_up(console.err(), {verbose_, console.colour(), timings_});
}

}  // namespace fxtrace::internal::cli
