#include "app/options/trace_options.h"

#include <algorithm>
#include <string_view>

#include <CLI/CLI.hpp>

#include "app/options/option_checks.h"
#include "app/options/pass_list.h"
#include "app/output/files.h"

namespace fxtrace::internal::cli {

void TraceArguments::add_to(CLI::App& app) {
  bool has_passes = false;
  for (std::size_t group = 0; group < std::size(kOptionGroups); ++group) {
    for (const OptionRow& row : option_table()) {
      if (row.name.empty() || row.group != group || row.not_for.find(app.get_name()) != row.not_for.npos)
        continue;
      add_row(app, row)->group(kOptionGroups[group]);
      has_passes = has_passes || group == kPasses;
    }
  }
  if (has_passes) add_list_of_passes(app);
}

CLI::Option* TraceArguments::add_row(CLI::App& app, const OptionRow& row) {
  if (row.kind == OptionKind::kFlag) {
    return app.add_flag_callback(row.name, [this, &row] { given_.push_back({&row, ""}); }, row.help);
  }
  const auto take = [this, &row](const std::string& text) {
    if (row.kind == OptionKind::kConfigFile) {
      config_file_ = text;
    } else {
      given_.push_back({&row, text});
    }
  };
  CLI::Option* option = app.add_option_function<std::string>(row.name, take, row.help)->type_name(row.type);
  if (row.kind == OptionKind::kInteger) option->check(integer_from(row.least));
  if (row.kind == OptionKind::kChoice) option->check(one_of(row.choices));
  // Repeatable options are recorded as they are parsed, which keeps the order across options.
  if (row.is_repeatable()) return option->trigger_on_parse();
  return option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

bool TraceArguments::any(const OptionFilter& which) const {
  return config_file_ || std::ranges::any_of(given_, [&](const Given& given) {
           return given.row->key != "cost" && (!which || which(*given.row));
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
  OptionSource source{.read_file = [&](const std::string& file) { return read_small_file(file, console); }};
  for (const auto& [row, text] : given_) {
    try {
      set_option(*row, text, source, config);
    } catch (const Error& error) {
      if (!error.place().empty() || std::string_view(error.what()).find(row->name) != std::string_view::npos)
        throw;
      throw usage_error(row->name + ": " + error.what(), error.hints());
    }
  }
  for (const std::string& library : config.options.op_libraries) console.has_read(library);
  return config;
}

void ModelArguments::add_to(CLI::App& app) {
  trace.add_to(app);
  isolation.add_to(app);
  verbose.add_to(app);
}

Config ModelArguments::set_up(Console& console) const {
  verbose.set_up_log(console);
  return trace.resolve(console);
}

}  // namespace fxtrace::internal::cli
