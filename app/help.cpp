#include "app/help.h"

#include <sstream>
#include <utility>
#include <vector>

#include "app/command_text.h"

namespace fxtrace::internal::cli {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kColumn = 30;  // where descriptions start

using TextRow = std::pair<std::string, std::string>;  // name, description

// Words of `text` from the column `indent` on; the cursor is at `column`.
void write_wrapped(std::ostream& out, const std::string& text, std::size_t column, std::size_t indent) {
  std::istringstream words(text);
  std::string word;
  bool first = true;
  while (words >> word) {
    if (!first && column + 1 + word.size() > kWidth) {
      out << "\n" << std::string(indent, ' ');
      column = indent;
      first = true;
    }
    if (!first) {
      out << ' ';
      ++column;
    }
    out << word;
    column += word.size();
    first = false;
  }
  out << "\n";
}

void write_section(std::ostream& out, const std::string& title, const std::vector<TextRow>& rows) {
  if (rows.empty()) return;
  out << "\n" << title << ":\n";
  for (const auto& [name, description] : rows) {
    out << "  " << name;
    std::size_t column = 2 + name.size();
    if (column + 2 > kColumn) {
      out << "\n";
      column = 0;
    }
    out << std::string(kColumn - column, ' ');
    write_wrapped(out, description, kColumn, kColumn);
  }
}

std::string option_name(const OptionText& option) {
  std::string text;
  for (const std::string& name : option.names) {
    const char* separator = !text.empty() ? ", " : name.starts_with("--") ? "    " : "";
    text += separator + name;
  }
  return option.value.empty() ? text : text + " " + option.value;
}

std::vector<TextRow> rows_of(const std::vector<OptionText>& options) {
  std::vector<TextRow> rows;
  for (const OptionText& option : options) rows.emplace_back(option_name(option), option.help);
  return rows;
}

}  // namespace

std::string format_help(const CLI::App* app) {
  const CommandText command = describe(*app);
  std::ostringstream out;
  out << "Example:\n" << command.examples << "\n";
  out << "Usage: " << command.usage() << "\n\n";
  write_wrapped(out, command.help, 0, 0);

  write_section(out, "Arguments", rows_of(command.arguments));
  std::vector<TextRow> commands;
  for (const CommandText& other : command.commands) commands.emplace_back(other.word, other.headline);
  write_section(out, "Commands", commands);
  for (const auto& [title, options] : command.groups) write_section(out, title, rows_of(options));
  if (!commands.empty()) out << "\n`" << command.name << " COMMAND --help` explains a command.\n";
  return out.str();
}

}  // namespace fxtrace::internal::cli
