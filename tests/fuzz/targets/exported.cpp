// The input is the JSON of a program, or an object with `program` and more of an archive: `weights` and
// `constants` (the configurations of data/), and `options` as in a configuration file.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "archive/file_kind.h"
#include "exported/program/exported_program.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/stored_zip.h"
#include "tests/fuzz/targets.h"
#include "trace/options/options.h"
#include "trace/search/trace.h"

namespace fxtrace::internal::fuzz {
namespace {

using Json = nlohmann::ordered_json;
using Records = std::vector<std::pair<std::string, std::string>>;

std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// A configuration of tensors, and bytes for each of them.
void add_tensors(const Json& all, const std::string& key, Records& records) {
  if (!all.contains(key)) return;
  const std::string folder = "m/data/" + key + "/";
  records.emplace_back(folder + "model_" + key + "_config.json", text_of(all[key]));
  if (!all[key].is_object() || !all[key].contains("config")) return;
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i * 7);
  for (const Json& tensor : all[key]["config"]) {
    if (!tensor.is_object() || !tensor.contains("path_name") || !tensor["path_name"].is_string()) continue;
    records.emplace_back(folder + tensor["path_name"].get<std::string>(), bytes);
  }
}

}  // namespace

void exported(std::string_view input) {
  Records records = {{"m/archive_format", "pt2"}};
  Config config;
  const Json all = Json::parse(input, nullptr, false);
  if (all.is_object() && all.contains("program")) {
    records.emplace_back("m/models/model.json", text_of(all["program"]));
    add_tensors(all, "weights", records);
    add_tensors(all, "constants", records);
    if (all.contains("options")) {
      accepts([&] { read_config(text_of(all["options"]), "options", config); });
    }
  } else {
    records.emplace_back("m/models/model.json", input);
  }
  exported_archive(stored_zip(records), config);
}

void exported_archive(std::string_view bytes, const Config& config) {
  const ModelFile file = memory_file(bytes);
  check_traced(config, [&](const TraceRequest& wanted) {
    const FileInfo info = identify_file(file);
    return trace_program(std::make_unique<const ExportedProgram>(info, config.options.model), config.options,
                         wanted, {});
  });
}

}  // namespace fxtrace::internal::fuzz
