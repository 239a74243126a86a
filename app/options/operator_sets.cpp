#include "app/options/operator_sets.h"

#include <filesystem>
#include <system_error>
#include <vector>

#include "fxtrace/saved_collection.h"
#include "support/error.h"
#include "support/text/nearest.h"
#include "support/text/shell_word.h"

namespace fxtrace::internal::cli {
namespace {

Error no_such_set(const std::string& name) {
  std::vector<std::string> names;
  for (const ShippedSet& shipped : shipped_sets()) names.emplace_back(shipped.name);
  return usage_error(
      "there is no set of operators and no file " + shell_quoted(name) + did_you_mean(name, names),
      {"fxtrace partition --list names the sets"});
}

}  // namespace

Rule read_backend(const std::string& name, Console& console) {
  if (find_shipped_set(name) != nullptr) return backend_rule(name, "");
  std::error_code failed;
  if (!std::filesystem::exists(name, failed) && name.find('/') == std::string::npos) throw no_such_set(name);
  const std::string text = read_small_file(name, console);
  if (text.empty()) throw usage_error("expected at least one operator").at(name);
  return backend_rule(std::filesystem::path(name).filename().string(), text);
}

OperatorSet set_of(const Rule& rule) {
  if (!rule.set_text.empty()) return read_operator_set(rule.set_text, rule.set);
  if (const ShippedSet* shipped = find_shipped_set(rule.set))
    return read_operator_set(shipped->text, rule.set);
  throw no_such_set(rule.set);
}

void ask_for_operators(TraceOptions& options) {
  enter_everything(options);
  options.beyond_ranges = true;
  options.grad = false;  // as for convert
}

GraphCollection operators_of(const Config& config, const InputFile& input, const FileInfo& info,
                             Isolated& isolated, Console& console) {
  GraphCollection collection;
  if (may_be_collection(input, info)) {
    collection = read_collection_file(input, console);
  } else {
    Config own = config;
    ask_for_operators(own.options);
    collection = trace_file(input, info, own, {}, isolated, console).collection;
  }
  static_cast<void>(run_passes({"functional"}, collection));
  return collection;
}

}  // namespace fxtrace::internal::cli
