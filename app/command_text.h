// What there is to say of a command, for whoever says it: --help, man pages, completions of shells.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace fxtrace::cli {

struct OptionText {
  std::vector<std::string> names;  // "-o", "--output"; of an argument its name alone: "MODEL"
  std::string value;               // "NAME=SPEC"; empty: a flag
  std::string help;
  // Of the value.
  std::vector<std::string> choices;
  bool is_file = false;
  bool is_repeatable = false;
};

struct OptionGroupText {
  std::string title;
  std::vector<OptionText> options;
};

struct CommandText {
  std::string name;      // "fxtrace trace"
  std::string word;      // "trace"
  std::string help;      // whole sentences
  std::string headline;  // the first of them, without its full stop
  std::string examples;  // lines that begin with two spaces
  std::vector<OptionText> arguments;
  std::vector<OptionGroupText> groups;  // as --help has them
  std::vector<CommandText> commands;

  std::string usage() const;  // "fxtrace trace [OPTIONS] MODEL"
};

CommandText describe(const CLI::App& app);

}  // namespace fxtrace::cli
