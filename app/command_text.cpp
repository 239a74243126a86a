#include "app/command_text.h"

#include <algorithm>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "passes/pass.h"

namespace fxtrace::internal::cli {
namespace {

// "run|skip".
std::vector<std::string> words_of(const std::string& type) {
  std::vector<std::string> words;
  std::size_t start = 0;
  while (start <= type.size()) {
    const std::size_t bar = std::min(type.find('|', start), type.size());
    words.push_back(type.substr(start, bar - start));
    start = bar + 1;
  }
  return words.size() > 1 ? words : std::vector<std::string>();
}

OptionText describe(const CLI::Option& option) {
  OptionText text;
  text.help = option.get_description();
  if (!option.nonpositional()) {
    text.names = {option.get_name(true)};
    text.is_optional = !option.get_required();
    text.is_repeatable = option.get_items_expected_max() > 1;
    text.is_file = !text.is_optional;  // MODEL, COLLECTION; not PATH
    return text;
  }
  for (const auto& name : option.get_snames()) text.names.push_back("-" + name);
  for (const auto& name : option.get_lnames()) text.names.push_back("--" + name);
  // A flag takes no value, so it has no type.
  if (option.get_type_size() == 0 || option.get_type_name().empty()) return text;
  text.value = option.get_type_name();
  text.is_file = text.value == "FILE" || text.value == "LIB";
  text.is_repeatable = option.get_items_expected_max() > 1 || option.get_trigger_on_parse();
  text.choices = words_of(text.value);
  if (text.names.back() == "--pass") {
    for (const Pass& pass : passes()) text.choices.emplace_back(pass.name);
  }
  return text;
}

}  // namespace

CommandText describe(const CLI::App& app) {
  CommandText text;
  text.word = text.name = app.get_name();
  for (const CLI::App* parent = app.get_parent(); parent != nullptr; parent = parent->get_parent()) {
    text.name = parent->get_name() + " " + text.name;
  }
  text.help = app.get_description();
  text.headline = text.help.substr(0, text.help.find(". "));
  if (text.headline.ends_with('.')) text.headline.pop_back();
  text.examples = app.get_footer();
  for (const CLI::Option* option : app.get_options()) {
    const std::string& title = option->get_group();
    if (title.empty()) continue;
    if (!option->nonpositional()) {
      text.arguments.push_back(describe(*option));
      continue;
    }
    auto group = std::ranges::find(text.groups, title, &OptionGroupText::title);
    if (group == text.groups.end()) group = text.groups.insert(text.groups.end(), {title, {}});
    group->options.push_back(describe(*option));
  }
  // --help and --version come last.
  std::ranges::stable_partition(text.groups, [](const auto& group) { return group.title != "Options"; });
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    text.commands.push_back(describe(*command));
  }
  return text;
}

std::string CommandText::usage() const {
  std::string text = name;
  if (!groups.empty()) text += " [OPTIONS]";
  for (const OptionText& argument : arguments) {
    const std::string& argument_name = argument.names.front();
    text += argument.is_optional ? " [" + argument_name + "]" : " " + argument_name;
    if (argument.is_repeatable) text += "...";
  }
  if (!commands.empty()) text += " COMMAND ...";
  return text;
}

namespace {

constexpr std::size_t kColumn = 30;  // where descriptions start

using TextRow = std::pair<std::string, std::string>;  // name, description

// Words of `text` from the column `indent` on; the cursor is at `column`.
void write_wrapped(std::ostream& out, const std::string& text, std::size_t column, std::size_t indent,
                   std::size_t width) {
  std::istringstream words(text);
  std::string word;
  bool first = true;
  while (words >> word) {
    if (!first && column + 1 + word.size() > width) {
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

void write_section(std::ostream& out, const std::string& title, const std::vector<TextRow>& rows,
                   std::size_t width) {
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
    write_wrapped(out, description, kColumn, kColumn, width);
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

std::string format_help(const CLI::App* app, std::size_t width) {
  const CommandText command = describe(*app);
  std::ostringstream out;
  out << "Example:\n" << command.examples << "\n";
  out << "Usage: " << command.usage() << "\n\n";
  write_wrapped(out, command.help, 0, 0, width);

  write_section(out, "Arguments", rows_of(command.arguments), width);
  std::vector<TextRow> commands;
  for (const CommandText& other : command.commands) commands.emplace_back(other.word, other.headline);
  write_section(out, "Commands", commands, width);
  for (const auto& [title, options] : command.groups) write_section(out, title, rows_of(options), width);
  if (!commands.empty()) out << "\n`" << command.name << " COMMAND --help` explains a command.\n";
  return out.str();
}

}  // namespace fxtrace::internal::cli
