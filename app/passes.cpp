#include "app/passes.h"

#include <algorithm>
#include <sstream>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "costs/graph_costs.h"
#include "graph/text_form.h"
#include "passes/pass.h"
#include "support/error.h"
#include "support/log.h"
#include "trace/option_table.h"

namespace fxtrace::cli {
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

std::string text_of(const Declined& declined) {
  std::string text = declined.node;
  if (!declined.graph.empty()) text += " of " + declined.graph;
  if (const auto& source = declined.source; source && !source->file.empty()) {
    text += " (" + place_text(*source) + ")";
  }
  return text + " as it was: " + declined.reason;
}

void tell(const PassReport& report, Console& console) {
  log::info("pass " + report.pass + ": " + std::to_string(report.nodes_before) + " nodes before, " +
            std::to_string(report.nodes_after) + " after, " + std::to_string(report.declined.size()) +
            " left as they were, in " + report.time);
  constexpr std::size_t kShown = 5;
  for (std::size_t i = 0; i < report.declined.size(); ++i) {
    const std::string line = report.pass + " left " + text_of(report.declined[i]);
    if (i < kShown) {
      console.remark("note", line);
    } else {
      log::info(line);
    }
  }
  if (report.declined.size() > kShown) {
    console.remark("note", report.pass + " left " + std::to_string(report.declined.size() - kShown) +
                               " more nodes as they were, which -v lists");
  }
}

}  // namespace

void add_list_of_passes(CLI::App& app) {
  app.add_flag_callback(
         "--list-passes", [] { throw CLI::CallForVersion(list_of_passes(), 0); }, "say what passes there are")
      ->group(kOptionGroups[kPasses])
      ->trigger_on_parse();
}

void check_passes(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (find_pass(name) == nullptr) {
      throw usage_error("--pass: there is no pass '" + name + "'",
                        {"fxtrace trace --list-passes lists them"});
    }
  }
}

void run_passes(const std::vector<std::string>& names, GraphCollection& collection, Console& console) {
  for (const std::string& name : names) {
    for (const PassReport& report : run_pass(*find_pass(name), collection)) tell(report, console);
  }
  // Of a collection that an earlier fxtrace wrote, nobody knows what its leaves cost.
  const bool has_costs =
      std::ranges::any_of(collection.graphs, [](const auto& graph) { return graph.cost.has_value(); });
  if (!names.empty() && has_costs) add_costs(collection);
}

void add_to_options(const std::vector<std::string>& names, GraphCollection& collection) {
  if (names.empty()) return;
  auto options = nlohmann::ordered_json::parse(collection.options_json);
  auto& all = options["pass"];
  if (!all.is_array())
    all = all.is_null() ? nlohmann::ordered_json::array() : nlohmann::ordered_json::array({all});
  for (const std::string& name : names) all.push_back(name);
  collection.options_json = options.dump();
}

}  // namespace fxtrace::cli
