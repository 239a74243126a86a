#include "app/help.h"

#include <algorithm>
#include <sstream>
#include <utility>
#include <vector>

namespace fxtrace::cli {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kColumn = 30;  // where descriptions start

using Row = std::pair<std::string, std::string>;  // name, description

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

void write_rows(std::ostream& out, const std::string& title, const std::vector<Row>& rows) {
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

std::string option_name(const CLI::Option& option) {
  if (option.nonpositional()) {
    std::string name;
    for (const auto& part : option.get_snames()) name += (name.empty() ? "-" : ", -") + part;
    for (const auto& part : option.get_lnames()) name += (name.empty() ? "    --" : ", --") + part;
    // Without a value (a flag) there is no type.
    if (option.get_type_size() != 0 && !option.get_type_name().empty()) name += " " + option.get_type_name();
    return name;
  }
  return option.get_name(true);
}

}  // namespace

std::string format_help(const CLI::App* app) {
  std::string name = app->get_name();
  for (const CLI::App* parent = app->get_parent(); parent != nullptr; parent = parent->get_parent()) {
    name = parent->get_name() + " " + name;
  }
  const auto options = app->get_options();
  const auto commands = app->get_subcommands([](const CLI::App*) { return true; });

  std::ostringstream out;
  out << "Example:\n" << app->get_footer() << "\n";
  out << "Usage: " << name;
  std::vector<Row> positionals;
  std::vector<std::pair<std::string, std::vector<Row>>> groups;
  for (const CLI::Option* option : options) {
    if (option->get_group().empty()) continue;
    Row row{option_name(*option), option->get_description()};
    if (!option->nonpositional()) {
      positionals.push_back(std::move(row));
      continue;
    }
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const auto& g) { return g.first == option->get_group(); });
    if (group == groups.end()) group = groups.insert(groups.end(), {option->get_group(), {}});
    group->second.push_back(std::move(row));
  }
  // --help and --version come last.
  std::stable_partition(groups.begin(), groups.end(),
                        [](const auto& group) { return group.first != "Options"; });

  if (!groups.empty()) out << " [OPTIONS]";
  for (const auto& row : positionals) out << " " << row.first;
  if (!commands.empty()) out << " COMMAND ...";
  out << "\n\n";
  write_wrapped(out, app->get_description(), 0, 0);

  write_rows(out, "Arguments", positionals);
  std::vector<Row> command_rows;
  for (const CLI::App* command : commands) {
    const std::string text = command->get_description();
    command_rows.emplace_back(command->get_name(), text.substr(0, text.find(". ")));
  }
  write_rows(out, "Commands", command_rows);
  for (const auto& [title, rows] : groups) write_rows(out, title, rows);
  if (!commands.empty()) out << "\n`" << name << " COMMAND --help` explains a command.\n";
  return out.str();
}

}  // namespace fxtrace::cli
