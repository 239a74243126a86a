// Writes the reference of options, docs/reference/options.md: a section for each command, a table for each
// group.
#include <string>
#include <string_view>
#include <vector>

#include "app/documents/documents.h"
#include "support/text/words.h"
#include "writers/formats/markdown_text.h"

namespace fxtrace::cli {
namespace {

// Escapes the markup of GitHub's Markdown.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (std::string_view("\\*_<>|").find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

// Formats code in a table, where only a bar has to be escaped.
std::string code(std::string_view text) {
  std::string result = "`";
  for (const char c : text) result += c == '|' ? std::string("\\|") : std::string(1, c);
  return result + "`";
}

void write_rows(const std::string& title, const std::vector<OptionText>& options, std::ostream& out) {
  if (options.empty()) return;
  out << "\n" << markdown_row({escaped(title), ""}) << "|---|---|\n";
  for (const OptionText& option : options) {
    std::vector<std::string> names = option.names;
    if (!option.value.empty()) names.back() += " " + option.value;
    const bool is_unsaid = option.is_repeatable && option.help.find("epeatable") == std::string::npos;
    out << markdown_row({joined(names, code), escaped(option.help) + (is_unsaid ? "; repeatable" : "")});
  }
}

void write_command(const CommandText& command, std::ostream& out) {
  out << "\n## " << command.name << "\n\n"
      << escaped(command.help) << "\n\nUsage: " << code(command.usage()) << "\n";
  write_rows("argument", command.arguments, out);
  for (const OptionGroupText& group : command.groups) write_rows(group.title, group.options, out);
}

}  // namespace

void write_options_page(const CommandText& program, std::ostream& out) {
  for (const CommandText& command : program.commands) write_command(command, out);
}

}  // namespace fxtrace::cli
