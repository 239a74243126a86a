// The option -v of every command, and --timings.
#pragma once

#include "app/console.h"

namespace CLI {
class App;
}

namespace fxtrace::internal::cli {

// The parsed options.  CLI11 writes into this object after add_to(), so it must not be moved before parsing
// ends.
class VerboseArgument {
 public:
  void add_to(CLI::App& app);
  void add_timings_to(CLI::App& app);  // for commands that trace and write
  // Directs the log to the console.
  void set_up_log(Console& console) const;

 private:
  bool verbose_ = false;
  bool timings_ = false;
};

}  // namespace fxtrace::internal::cli
