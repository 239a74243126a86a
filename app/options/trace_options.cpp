#include "app/options/trace_options.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include <CLI/CLI.hpp>

#include "app/options/option_checks.h"
#include "app/options/passes.h"
#include "app/output/files.h"
#include "fxtrace/saved_collection.h"

namespace fxtrace::cli {
namespace {

// Returns the row of the list that this row's values are added to.
const OptionRow* list_row(const OptionRow* row) {
  if (row->adds_to == nullptr) return row;
  const auto is_it = [&](const OptionRow& other) {
    return other.key != nullptr && std::string_view(other.key) == row->adds_to;
  };
  return &*std::find_if(option_table().begin(), option_table().end(), is_it);
}

// Costs can be computed for a graph that is traced already, too.
bool is_cost(const OptionRow& row) { return row.key != nullptr && std::string_view(row.key) == "cost"; }

}  // namespace

void TraceArguments::add_to(CLI::App& app, const OptionFilter& which) {
  bool has_passes = false;
  for (std::size_t group = 0; group < std::size(kOptionGroups); ++group) {
    for (const OptionRow& row : option_table()) {
      if (row.name == nullptr || row.group != group || (which && !which(row))) continue;
      add_row(app, row)->group(kOptionGroups[group]);
      has_passes = has_passes || group == kPasses;
    }
  }
  if (has_passes) add_list_of_passes(app);
}

CLI::Option* TraceArguments::add_row(CLI::App& app, const OptionRow& row) {
  using Kind = OptionValue::Kind;
  const OptionValue& value = row.value;
  if (value.kind == Kind::kFlag) {
    return app.add_flag_callback(row.name, [this, &row] { given_.push_back({&row, ""}); }, row.help);
  }
  const auto take = [this, &row](const std::string& text) {
    if (row.value.kind == Kind::kConfigFile) {
      config_file_ = text;
    } else {
      given_.push_back({&row, text});
    }
  };
  CLI::Option* option = app.add_option_function<std::string>(row.name, take, row.help)->type_name(row.type);
  if (value.kind == Kind::kInteger) option->check(integer_from(value.least));
  if (value.kind == Kind::kChoice) option->check(one_of(value.choices));
  // Repeatable options are recorded as they are parsed, which keeps the order across options.
  if (value.kind == Kind::kRepeatable) return option->trigger_on_parse();
  return option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

bool TraceArguments::any(const OptionFilter& which) const {
  return config_file_ || std::ranges::any_of(given_, [&](const Given& given) {
           return !is_cost(*given.row) && (!which || which(*given.row));
         });
}

std::vector<std::string> TraceArguments::take_names(std::string_view option) {
  std::vector<std::string> names;
  std::erase_if(given_, [&](const Given& given) {
    if (given.row->name != option || given.text.find('=') != std::string::npos) return false;
    names.push_back(given.text);
    return true;
  });
  return names;
}

bool TraceArguments::has(std::string_view option, const std::string& text) const {
  return std::ranges::any_of(
      given_, [&](const Given& given) { return given.row->name == option && given.text == text; });
}

Config TraceArguments::resolve(Console& console) const {
  Config config;
  if (config_file_) read_config(read_small_file(*config_file_, console), *config_file_, config);
  // The order is that of the table, as a file is read; within one list it is the order given.
  auto given = given_;
  std::stable_sort(given.begin(), given.end(),
                   [](const Given& a, const Given& b) { return list_row(a.row) < list_row(b.row); });
  OptionSource source{.folder = {},
                      .read_file = [&](const std::string& file) { return read_small_file(file, console); }};
  for (const auto& [row, text] : given) row->value.from_text(config, text, source);
  check_passes(config.passes);
  for (const std::string& library : config.options.op_libraries) console.has_read(library);
  return config;
}

void ModelArguments::add_to(CLI::App& app, const OptionFilter& which) {
  trace.add_to(app, which);
  isolation.add_to(app);
  verbose.add_to(app);
}

Config ModelArguments::set_up(Console& console) const {
  verbose.set_up_log(console);
  return trace.resolve(console);
}

}  // namespace fxtrace::cli
