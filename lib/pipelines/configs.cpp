#include "pipelines/configs.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "pipelines/passes.h"
#include "pipelines/read_model.h"
#include "support/error.h"
#include "support/text/did_you_mean.h"
#include "trace/options/input_spec.h"

namespace fxtrace::internal {

Config config_for_costs(Config config, FileKind kind) {
  TraceOptions& options = config.options;
  options.beyond_ranges = true;
  const bool has_leaf_options =
      !options.default_leaves || !options.leaf_rules.empty() || options.max_depth.has_value();
  const bool has_shapes = kind != FileKind::kTorchScript || !options.inputs.empty();
  if (!has_leaf_options && has_shapes) options.default_leaves = false;
  return config;
}

void enter_everything(TraceOptions& options) {
  options.default_leaves = false;
  options.default_wrap = false;
  options.leaf_rules.clear();
  options.wrap_rules.clear();
  options.max_depth.reset();
  options.hooks = Hooks::kRun;
  options.control_flow = ControlFlow::kSubgraph;
}

Config config_for(Config config, FileKind kind) {
  TraceOptions& options = config.options;
  if (kind == FileKind::kTorchScript) {
    options.model.reset();
  } else if (kind == FileKind::kExportedProgram) {
    const std::vector<std::string> named = named_dimensions(options.inputs);
    std::erase_if(options.dimensions,
                  [&](const DimensionRange& range) { return std::ranges::count(named, range.name) > 0; });
    options.inputs.clear();
  }
  return config;
}

void ask_for_operators(TraceOptions& options) {
  enter_everything(options);
  options.beyond_ranges = true;
  options.grad = false;  // as for convert
}

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
