#include "trace/options/config.h"

#include <filesystem>
#include <vector>

#include "support/error.h"
#include "support/json_document.h"
#include "support/json_emitter.h"
#include "trace/options/config_values.h"
#include "trace/options/option_table.h"

namespace fxtrace::internal {
namespace {

constexpr JsonRules kJsonRules{ErrorKind::kUsage, 32, true};

}  // namespace

Argument parse_concrete(std::string_view text, const std::string& what) {
  return read_argument(JsonDocument(text, what, kJsonRules).root());
}

void read_config(std::string_view text, const std::string& file, Config& config) {
  const JsonDocument document(text, file, kJsonRules);
  const JsonValue root = document.root();
  object_fields(root, "an object with options");
  if (const auto format = root.find_or_null("format");
      format && format->is_string() && format->string() == "fxtrace.graph_collection") {
    format->fail_at_key("this is a whole collection; use the value of its 'options'");
  }
  std::vector<std::string> known;
  for (const OptionRow& row : option_table()) {
    if (!row.key.empty()) known.push_back(row.key);
  }
  check_document(root, "fxtrace.config", known, "option");
  // Options are read in the order of the table, whatever the order of keys in the file.
  OptionSource source{.folder = std::filesystem::path(file).parent_path()};
  for (const OptionRow& row : option_table()) {
    if (row.key.empty()) continue;
    if (const auto value = root.find_or_null(row.key)) read_option(row, *value, source, config);
  }
}

std::string options_json(const Config& config) {
  return json_text(JsonLayout::kCompact, [&](JsonEmitter& json) {
    json.object([&] {
      for (const OptionRow& row : option_table()) write_option(row, config, json);
    });
  });
}

}  // namespace fxtrace::internal
