#include "pipelines/configs.h"

#include <algorithm>
#include <string>
#include <vector>

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

}  // namespace fxtrace::internal
