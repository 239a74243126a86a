// The commands and their options, and finding the one that was meant.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/commands/command.h"
#include "app/console.h"
#include "support/error.h"

namespace fxtrace::cli {

class CommandLine {
 public:
  CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  // For what describes it: --help, man pages, completions.
  const CLI::App& app() const { return app_; }

  // Once.  Returns the exit code or throws Error.
  int run(std::vector<std::string> args, Console& console);

 private:
  void check_command(const std::vector<std::string>& args) const;
  std::vector<std::string> command_names() const;
  // `fxtrace FILE` is `fxtrace summary FILE`: whether the first word is a file, or could be no command.
  bool is_file_without_command(const std::vector<std::string>& args) const;
  // The command whose name was seen, or fxtrace itself.
  const CLI::App* chosen() const;
  Error wrong_usage(const CLI::ParseError& error) const;
  Error unknown_option(const std::string& name, const CLI::App* app, const std::string& hint) const;

  CLI::App app_;
  std::vector<Command> commands_;
};

}  // namespace fxtrace::cli
