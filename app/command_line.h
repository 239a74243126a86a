// The commands and their options, and the choice of the command.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/commands/commands.h"
#include "app/console.h"
#include "support/error.h"

namespace fxtrace::internal::cli {

class CommandLine {
 public:
  // Makes all commands, or the one of that name, or, for an option of fxtrace itself ("--help"), what
  // commands there are without their options: options take longer to be made than a small file to be read.
  explicit CommandLine(std::string_view only = {});
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  // For descriptions: --help, man pages, completions.
  const CLI::App& app() const { return app_; }

  // Returns the exit code or throws Error.
  static int run(std::vector<std::string> args, Console& console);

 private:
  int parse_and_run(const std::vector<std::string>& args, Console& console);
  // Returns the command whose name was parsed, or fxtrace itself.
  const CLI::App* chosen() const;
  Error wrong_usage(const CLI::ParseError& error) const;
  Error unknown_option(const std::string& name, const CLI::App* app, const std::string& hint) const;

  CLI::App app_;
  std::vector<std::pair<CLI::App*, Command>> commands_;
};

}  // namespace fxtrace::internal::cli
