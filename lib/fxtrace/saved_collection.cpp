#include "fxtrace/saved_collection.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>
#include <utility>

#include "archive/file_kind.h"
#include "costs/custom_costs.h"
#include "costs/graph_costs.h"
#include "readers/collection_reader.h"
#include "support/error.h"
#include "support/json_document.h"
#include "support/json_emitter.h"
#include "support/text/utf8.h"
#include "support/timer.h"
#include "trace/options/config_values.h"
#include "trace/options/option_table.h"

namespace fxtrace::internal {
namespace {

std::string some_of(const std::set<std::string>& names) {
  constexpr std::size_t kShown = 5, kMaxName = 80;
  std::string text;
  std::size_t shown = 0;
  for (const auto& name : names) {
    if (shown == kShown) break;
    text += (shown++ == 0 ? "" : ", ") + cut(name, kMaxName);
  }
  return names.size() == shown ? text : text + " and " + std::to_string(names.size() - shown) + " more";
}

bool has_costs(const GraphCollection& collection) {
  return std::ranges::any_of(collection.graphs, [](const auto& graph) { return graph.cost.has_value(); });
}

}  // namespace

GraphCollection read_collection_file(const ModelFile& file, const std::string& name,
                                     const Listener& listener) {
  const FileInfo info = identify_file(file);
  if (info.kind != FileKind::kText) {
    throw input_error("this is not a graph collection but " + info.what,
                      {"fxtrace trace MODEL -o FILE.json writes one"});
  }
  const Timer timer;
  const std::string text = file.read_whole();
  std::set<std::string> unknown;
  GraphCollection collection = read_collection(text, name, &unknown);
  listener.progress("read " + std::to_string(text.size()) + " bytes of " + name + " in " +
                    timer.milliseconds());
  if (!unknown.empty())
    listener.warning(name + ": ignored fields that a later fxtrace has written: " + some_of(unknown));
  const JsonDocument options(collection.options_json, "options");
  if (const auto costs = options.root().find("cost")) {
    for (const JsonValue cost : costs->fields())
      collection.custom_costs.push_back(make_custom_cost(cost.key(), std::string(cost.string())));
  }
  return collection;
}

Config saved_options(const GraphCollection& collection) {
  try {
    Config config;
    read_config(collection.options_json, collection.model.file, config);
    return config;
  } catch (const Error&) {
    return {};
  }
}

void check_passes(const std::vector<std::string>& names) {
  Config unused;
  for (const std::string& name : names) set_option("--pass", name, unused);
}

std::vector<PassReport> run_passes(const std::vector<std::string>& names, GraphCollection& collection) {
  std::vector<PassReport> reports;
  for (const std::string& name : names)
    std::ranges::move(run_pass(*find_pass(name), collection), std::back_inserter(reports));
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

}  // namespace fxtrace::internal
