// The option -v of every command, and --timings.
#pragma once

#include "app/console.h"

namespace CLI {
class App;
}

namespace fxtrace::cli {

// add_to() fills it while CLI11 parses, so it must stay where it is until then.
class VerboseArgument {
 public:
  void add_to(CLI::App& app);
  void add_timings_to(CLI::App& app);  // of commands that trace and write
  // From now on the log goes to the console.
  void set_up_log(Console& console) const;

 private:
  bool verbose_ = false;
  bool timings_ = false;
};

}  // namespace fxtrace::cli
