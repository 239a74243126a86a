#include "pipelines/saved_collection.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>
#include <utility>

#include "archive/file_kind.h"
#include "costs/custom_costs.h"
#include "readers/collection_reader.h"
#include "support/error.h"
#include "support/json_document.h"
#include "support/json_emitter.h"
#include "support/text/utf8.h"
#include "support/timer.h"

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

}  // namespace

GraphCollection read_collection_file(const ModelFile& file, const Listener& listener) {
  const std::string& name = file.path();
  const FileInfo info = identify_file(file);
  if (info.kind != FileKind::kText) {
    throw input_error("this is not a graph collection but " + info.what,
                      {"fxtrace trace MODEL -o FILE.json writes one"})
        .at(name);
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

}  // namespace fxtrace::internal
