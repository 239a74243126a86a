// The input is a whole TorchScript archive: its code, and after lines of "---" the pickles data.pkl and
// constants.pkl, which may be left out.  If the first line of the code is a comment, it is a configuration in
// JSON.
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "archive/file_kind.h"
#include "interpreter/load.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/stored_zip.h"
#include "tests/fuzz/targets.h"
#include "trace/options/options.h"

namespace fxtrace::internal::fuzz {
namespace {

// A module of class __torch__.Net without attributes; an empty tuple.
constexpr std::string_view kModule =
    "\x80\x02"
    "c__torch__\nNet\n)\x81}b.";
constexpr std::string_view kNoConstants = "\x80\x02).";

std::array<std::string_view, 3> parts_of(std::string_view input) {
  constexpr std::string_view kBetween = "\n---\n";
  std::array<std::string_view, 3> parts{input, kModule, kNoConstants};
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    const std::size_t end = parts[i].find(kBetween);
    if (end == std::string_view::npos) break;
    parts[i + 1] = parts[i].substr(end + kBetween.size());
    parts[i] = parts[i].substr(0, end + 1);
  }
  return parts;
}

}  // namespace

void trace(std::string_view input) {
  const auto [code, data, constants] = parts_of(input);
  Config config;
  if (code.starts_with('#')) {
    const std::string_view json = code.substr(1, code.find('\n') - 1);
    accepts([&] { read_config(std::string(json), "options", config); });
  }
  config.options.limits.iterations = 300;
  config.options.limits.nodes = 500;
  config.options.limits.call_depth = 50;
  config.options.op_schemas.clear();
  std::vector<std::pair<std::string, std::string>> records{
      {"m/version", std::to_string(1 + input.size() % 10)},
      {"m/byteorder", "little"},
      {"m/code/__torch__.py", std::string(code)},
      {"m/data.pkl", std::string(data)},
      {"m/constants.pkl", std::string(constants)}};
  const std::string bytes(1024, '\1');
  constexpr int kRecords = 14;
  for (int i = 0; i < kRecords; ++i) {
    records.emplace_back("m/data/" + std::to_string(i), bytes);
    records.emplace_back("m/constants/" + std::to_string(i), bytes);
  }
  const ModelFile file = memory_file(stored_zip(records));
  check_traced(config, [&](const TraceRequest& wanted) {
    const FileInfo info = identify_file(file);
    return trace_program(interpreter::load_torchscript(info, config.options, {}), config.options, wanted, {});
  });
}

}  // namespace fxtrace::internal::fuzz
