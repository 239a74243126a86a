// The commands and their options, and the choice of the command.
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

  // For descriptions: --help, man pages, completions.
  const CLI::App& app() const { return app_; }

  // May be called once.  Returns the exit code or throws Error.
  int run(std::vector<std::string> args, Console& console);

 private:
  void check_command(const std::vector<std::string>& args) const;
  std::vector<std::string> command_names() const;
  // Returns whether the first word is a file, or cannot be a command: `fxtrace FILE` means `fxtrace summary
  // FILE`.
  bool is_file_without_command(const std::vector<std::string>& args) const;
  // Returns the command whose name was parsed, or fxtrace itself.
  const CLI::App* chosen() const;
  Error wrong_usage(const CLI::ParseError& error) const;
  Error unknown_option(const std::string& name, const CLI::App* app, const std::string& hint) const;

  CLI::App app_;
  std::vector<Command> commands_;
};

}  // namespace fxtrace::cli
