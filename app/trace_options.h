// The options of a trace on the command line, shared by the commands that load a model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trace/option_table.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace fxtrace::cli {

// What the command line said; add_to() fills it while CLI11 parses, so it must stay where it is until then.
class TraceArguments {
 public:
  void add_to(CLI::App& app);
  // Without those of graph passes.
  void add_without_passes_to(CLI::App& app);
  // The options of graph passes alone.
  void add_passes_to(CLI::App& app);

  // The configuration file, if any, with the command line on top.  Throws Error(kUsage).
  Config resolve() const;

  // Whether the command line has any.
  bool any() const { return config_file_ || !given_.empty(); }
  // Likewise, but those of graph passes.
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
