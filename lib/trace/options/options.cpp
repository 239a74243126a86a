#include "trace/options/options.h"

#include <filesystem>
#include <string>
#include <vector>

#include "support/error.h"
#include "support/json_document.h"
#include "support/json_emitter.h"
#include "trace/options/option_json.h"
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

namespace {

// These allow about two seconds of processor time for the smallest file, and as much again for each 130 KB:
// the work grows with the size of the file.
constexpr std::int64_t kUnits = std::int64_t{1} << 25;
constexpr std::int64_t kUnitsOfByte = 256;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 40;

// Returns the number of units; it grows in proportion to the limit of iterations.
std::int64_t units(const Limits& limits, std::uint64_t file_size) {
  constexpr Limits kUsual;
  constexpr std::int64_t kMostTimes = 1'000;
  const std::int64_t usual =
      kUnits + kUnitsOfByte * static_cast<std::int64_t>(std::min(file_size, kMostBytes));
  const std::int64_t iterations =
      std::clamp(limits.iterations, kUsual.iterations, kMostTimes * kUsual.iterations);
  return usual / kUsual.iterations * iterations;
}

}  // namespace

Budget::Budget(const Limits& limits, std::uint64_t file_size, SpentUnits spent)
    : units_(units(limits, file_size)),
      spent_(spent != nullptr ? std::move(spent) : std::make_shared<std::int64_t>(0)) {}

void Budget::run_out() const {
  throw input_error("the code of the file takes more than " + std::to_string(units_) + " steps to trace",
                    {"--max-iterations above " + std::to_string(Limits().iterations) + " allows more steps"});
}

}  // namespace fxtrace::internal
