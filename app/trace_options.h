// The options of a trace on the command line, shared by the commands that load a model.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/option_table.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace fxtrace::cli {

// The parsed options.  CLI11 writes into this object after add_to(), so it must not be moved before parsing
// ends.
class TraceArguments {
 public:
  void add_to(CLI::App& app);
  // Adds all options but those of graph passes.
  void add_without_passes_to(CLI::App& app);
  // Adds only the options of graph passes.
  void add_passes_to(CLI::App& app);

  // Returns the configuration file, if any, overridden by the command line.  Throws Error(kUsage).
  Config resolve() const;

  // Removes and returns the values of an option NAME=VALUE that are names alone, for a command that gives
  // them another meaning.
  std::vector<std::string> take_names(std::string_view option);
  // Returns whether the command line has the option with this value.
  bool has(std::string_view option, const std::string& text) const;
  const std::optional<std::string>& config_file() const { return config_file_; }

  // Returns whether the command line has any of these options.
  bool any() const { return config_file_ || !given_.empty(); }
  // Returns the same without options of graph passes.
  bool any_but_passes() const;

 private:
  struct Given {
    const OptionRow* row;
    std::string text;
  };

  CLI::Option* add_row(CLI::App& app, const OptionRow& row);

  std::optional<std::string> config_file_;
  std::vector<Given> given_;
};

}  // namespace fxtrace::cli
