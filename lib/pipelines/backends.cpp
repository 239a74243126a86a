#include "pipelines/backends.h"

#include <utility>
#include <vector>

#include "pipelines/configs.h"
#include "pipelines/passes.h"
#include "pipelines/saved_collection.h"
#include "support/error.h"
#include "support/text/nearest.h"
#include "support/text/shell_word.h"

namespace fxtrace::internal {

Error no_such_set(const std::string& name) {
  std::vector<std::string> names;
  for (const ShippedSet& shipped : shipped_sets()) names.emplace_back(shipped.name);
  return usage_error(
      "there is no set of operators and no file " + shell_quoted(name) + did_you_mean(name, names),
      {"fxtrace partition --list names the sets"});
}

OperatorSet set_of(const Rule& rule) {
  if (!rule.set_text.empty()) return read_operator_set(rule.set_text, rule.set);
  if (const ShippedSet* shipped = find_shipped_set(rule.set))
    return read_operator_set(shipped->text, rule.set);
  throw no_such_set(rule.set);
}

void check_set(const Rule& rule) {
  if (rule.kind == RuleKind::kBackend) static_cast<void>(set_of(rule));
}

GraphCollection operators_of(const Config& config, const NamedFile& file, const FileInfo& info, Run& run) {
  GraphCollection collection;
  if (may_be_collection(file.file, info)) {
    collection = read_collection_file(file.file, run.listener());
  } else {
    Config own = config;
    ask_for_operators(own.options);
    collection = trace_file(file, info, own, {}, run).collection;
  }
  run_passes({"functional"}, collection, Listener());
  return collection;
}

}  // namespace fxtrace::internal
