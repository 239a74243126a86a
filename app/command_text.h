// Descriptions of commands, and the layout of --help.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace fxtrace::internal::cli {

// Descriptions of commands, for --help, man pages and shell completions.

struct OptionText {
  std::vector<std::string> names;  // "-o", "--output"; for an argument just its name: "MODEL"
  std::string value;               // "NAME=SPEC"; empty: a flag
  std::string help;
  std::vector<std::string> choices;
  bool is_file = false;
  bool is_repeatable = false;
  bool is_optional = false;  // only for an argument
};

struct OptionGroupText {
  std::string title;
  std::vector<OptionText> options;
};

struct CommandText {
  std::string name;      // "fxtrace trace"
  std::string word;      // "trace"
  std::string help;      // whole sentences
  std::string headline;  // the first sentence, without its full stop
  std::string examples;  // lines that begin with two spaces
  std::vector<OptionText> arguments;
  std::vector<OptionGroupText> groups;  // in the order of --help
  std::vector<CommandText> commands;

  std::string usage() const;  // "fxtrace trace [OPTIONS] MODEL"
};

CommandText describe(const CLI::App& app);

// The layout of --help: an example first, then usage, then options in aligned columns.

inline constexpr std::size_t kHelpWidth = 100;  // of all but narrower terminals

// Formats the help of `app`; its footer is the example.
std::string format_help(const CLI::App* app, std::size_t width = kHelpWidth);

}  // namespace fxtrace::internal::cli
