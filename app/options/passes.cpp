#include "app/options/passes.h"

#include <algorithm>
#include <sstream>

#include <CLI/CLI.hpp>

#include "fxtrace/saved_collection.h"
#include "graph/analysis/collection_summary.h"
#include "graph/analysis/text_form.h"
#include "passes/pass.h"
#include "support/log.h"
#include "support/text/words.h"
#include "trace/options/option_table.h"

namespace fxtrace::internal::cli {
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
         "--list-passes", [] { throw CLI::CallForVersion(list_of_passes(), 0); }, "list the passes")
      ->group(kOptionGroups[kPasses])
      ->trigger_on_parse();
}

void run_passes(const std::vector<std::string>& names, GraphCollection& collection, Console& console) {
  for (const PassReport& report : internal::run_passes(names, collection)) tell(report, console);
}

std::optional<std::string> strict_failure(const std::vector<std::string>& passes,
                                          const GraphCollection& collection) {
  std::vector<std::string> failures;
  if (const std::size_t failed = count_failed(collection); failed > 0) {
    const auto modules = std::ranges::count_if(collection.modules, [](const auto& m) { return !m.alias_of; });
    failures.push_back(std::to_string(failed) + " of " + std::to_string(modules) +
                       " modules failed to trace");
  }
  const auto removes_writes = [](const std::string& name) {
    return name == "remove-inplace" || name == "functional";
  };
  if (std::ranges::any_of(passes, removes_writes)) {
    const std::size_t writes = count_writes_that_stay(collection);
    if (writes > 0)
      failures.push_back(std::to_string(writes) +
                         (writes == 1 ? " in-place write remains" : " in-place writes remain"));
  }
  if (failures.empty()) return std::nullopt;
  return joined(failures, [](const std::string& text) { return text; }, ", and ");
}

}  // namespace fxtrace::internal::cli
