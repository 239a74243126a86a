#include "pipelines/passes.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "archive/model_file.h"
#include "costs/graph_costs.h"
#include "graph/analysis/collection_summary.h"
#include "graph/analysis/text_form.h"
#include "support/json_document.h"
#include "support/json_emitter.h"
#include "support/text/words.h"
#include "trace/options/config_values.h"
#include "trace/options/option_table.h"

namespace fxtrace::internal {
namespace {

bool has_costs(const GraphCollection& collection) {
  return std::ranges::any_of(collection.graphs, [](const auto& graph) { return graph.cost.has_value(); });
}

std::string text_of(const Declined& declined) {
  std::string text = declined.node;
  if (!declined.graph.empty()) text += " of " + declined.graph;
  if (const auto& source = declined.source; source && !source->file.empty()) {
    text += " (" + place_text(*source) + ")";
  }
  return text + " as it was: " + declined.reason;
}

void tell(const PassReport& report, const Listener& listener) {
  listener.progress("pass " + report.pass + ": " + std::to_string(report.nodes_before) + " nodes before, " +
                    std::to_string(report.nodes_after) + " after, " + std::to_string(report.declined.size()) +
                    " left as they were, in " + report.time);
  constexpr std::size_t kShown = 5;
  for (std::size_t i = 0; i < report.declined.size(); ++i) {
    const std::string line = report.pass + " left " + text_of(report.declined[i]);
    if (i < kShown) {
      listener.note(line);
    } else {
      listener.progress(line);
    }
  }
  if (report.declined.size() > kShown) {
    listener.note(report.pass + " left " + std::to_string(report.declined.size() - kShown) +
                  " more nodes as they were, which -v lists");
  }
}

}  // namespace

void check_passes(const std::vector<std::string>& names) {
  Config unused;
  for (const std::string& name : names) set_option("--pass", name, unused);
}

std::vector<PassReport> run_passes(const std::vector<std::string>& names, GraphCollection& collection,
                                   const Listener& listener) {
  std::vector<PassReport> reports;
  for (const std::string& name : names)
    std::ranges::move(run_pass(*find_pass(name), collection), std::back_inserter(reports));
  for (const PassReport& report : reports) tell(report, listener);
  // The costs of leaves are unknown in a collection that an earlier fxtrace wrote.
  if (!names.empty() && has_costs(collection)) add_costs(collection);
  return reports;
}

GraphCollection extract_part(const GraphCollection& collection, const ExtractRequest& part) {
  GraphCollection extracted = extract(collection, part);
  if (has_costs(collection)) add_costs(extracted);
  return extracted;
}

void add_to_options(const std::vector<std::string>& names, GraphCollection& collection) {
  if (names.empty()) return;
  const JsonDocument document(collection.options_json, "options");
  const JsonValue options = document.root();
  std::vector<std::string> all;
  if (const auto earlier = options.find("pass"))
    for_each_string(*earlier, [&](auto, const std::string& name) { all.push_back(name); });
  all.insert(all.end(), names.begin(), names.end());
  collection.options_json = json_text(JsonLayout::kCompact, [&](JsonEmitter& json) {
    json.object([&] {
      for (const JsonValue option : options.fields()) {
        if (option.key() == "pass") continue;
        json.key(option.key());
        option.write(json);
      }
      json.field("pass", all);
    });
  });
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

void check_strict(const Config& config, const GraphCollection& collection, const ModelFile& file, Run& run) {
  if (!config.strict) return;
  if (const auto failure = strict_failure(config.passes, collection))
    run.fail_strict(input_error(*failure).at(file.path()));
}

}  // namespace fxtrace::internal
