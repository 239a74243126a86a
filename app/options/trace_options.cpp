#include "app/options/trace_options.h"

#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>

#include "app/options/option_checks.h"
#include "app/output/files.h"
#include "passes/pass.h"
#include "support/log.h"
#include "trace/options/option_table.h"

namespace fxtrace::internal::cli {

void VerboseArgument::add_to(CLI::App& app) {
  app.add_flag("-v,--verbose", verbose_, "report progress and timings on stderr")->group("Output");
}

void VerboseArgument::add_timings_to(CLI::App& app) {
  app.add_flag("--timings", timings_, "report on stderr how long loading, tracing, passes and writing took")
      ->group("Output");
}

void VerboseArgument::set_up_log(Console& console) const {
  log::set_up(console.err(), {verbose_, console.colour(), timings_});
}

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
    const std::string names = row.other_name.empty() ? row.name : row.name + "," + row.other_name;
    return app.add_flag_callback(names, [this, &row] { given_.push_back({&row, ""}); }, row.help);
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

namespace {

std::string list_of_passes() {
  std::size_t width = 0;
  for (const Pass& pass : passes()) width = std::max(width, pass.name.size());
  std::ostringstream text;
  for (const Pass& pass : passes()) {
    const std::string padding(width - pass.name.size(), ' ');
    text << (&pass == &passes().front() ? "" : "\n") << pass.name << padding << "  " << pass.help;
  }
  return text.str();
}

}  // namespace

void add_list_of_passes(CLI::App& app) {
  app.add_flag_callback(
         "--list-passes", [] { throw CLI::CallForVersion(list_of_passes(), 0); }, "list the passes")
      ->group(kOptionGroups[kPasses])
      ->trigger_on_parse();
}

void CostArguments::add_to(CLI::App& app, const char* group) {
  app.add_option_function<std::string>(
         "--at",
         [this](const std::string& text) {
           for (GivenSizes& each : read_given_sizes(text)) at.push_back(std::move(each));
         },
         "compute shapes and costs at these sizes of dimensions or inputs: batch=1,seq=4096 or "
         "x=1x3x224x224. Repeatable")
      ->type_name("NAME=N,..")
      ->trigger_on_parse()
      ->group(group);
}

}  // namespace fxtrace::internal::cli
