// Options that several commands share: those of a trace, of passes, of costs, and -v.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/console.h"
#include "app/process/isolation.h"
#include "costs/graph_costs.h"
#include "trace/options/option_table.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace fxtrace::internal::cli {

// The option -v of every command, and --timings.

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

// The options shared by the commands that load a model: options of the trace, of isolation and of messages.

using OptionFilter = std::function<bool(const OptionRow&)>;

// Selects the options of a trace except passes, which run on a traced collection as well.
inline bool is_no_pass(const OptionRow& row) { return row.group != kPasses; }

// The parsed options.  CLI11 writes into this object after add_to(), so it must not be moved before parsing
// ends.
class TraceArguments {
 public:
  // Adds the options that the command takes.
  void add_to(CLI::App& app);

  // Returns the configuration file, if any, overridden by the command line.  The console records the files
  // that are read for that.  Throws Error(kUsage).
  Config resolve(Console& console) const;

  // Removes and returns the values of an option NAME=VALUE that are only names, for a command that gives them
  // another meaning.
  std::vector<std::string> take_names(std::string_view option);
  // Returns whether the command line gives the option this value.
  bool has(std::string_view option, const std::string& text) const;
  const std::optional<std::string>& config_file() const { return config_file_; }

  // Returns whether the command line has any option, but --cost, for which `which` holds: costs can be
  // computed for a graph that is traced already, too.
  bool any(const OptionFilter& which = {}) const;

 private:
  struct Given {
    const OptionRow* row;
    std::string text;
  };

  CLI::Option* add_row(CLI::App& app, const OptionRow& row);

  std::optional<std::string> config_file_;
  std::vector<Given> given_;
};

// The arguments of a command that loads a model derive from this.
struct ModelArguments {
  TraceArguments trace;
  IsolationArguments isolation;
  VerboseArgument verbose;

  void add_to(CLI::App& app);
  // Directs the log to the console, and returns the configuration.  Throws Error(kUsage).
  Config set_up(Console& console) const;
};

// The list of graph passes.

// Adds the option --list-passes, which prints the passes and ends the run.
void add_list_of_passes(CLI::App& app);

// The options of commands that show costs: --at for sizes, and --cost for the user's own operators.

struct CostArguments {
  std::vector<GivenSizes> at;

  void add_to(CLI::App& app, const char* group);
};

}  // namespace fxtrace::internal::cli
