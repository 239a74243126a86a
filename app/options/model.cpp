#include "app/options/model.h"

#include <algorithm>

#include "support/log.h"
#include "trace/options/input_spec.h"

namespace fxtrace::internal::cli {

TraceResult& trace_file(const InputFile& input, const FileInfo& info, const Config& config,
                        const TraceRequest& wanted, Isolated& isolated, Console& console) {
  log::info(input.display() + " is " + info.what);
  try {
    TraceResult& result = isolated.keep_alive(
        internal::trace_file(input.file(), info, input.base_name(), config, wanted, listener_of(console)));
    if (config.strict && !result.undone.empty()) {
      isolated.falls_short();
      console.error(input.with_display(
          input_error("an option could not be followed: " + result.undone.front().text())));
    }
    return result;
  } catch (const Error& error) {
    if (error.place().empty()) throw;
    throw input.with_display(error);
  }
}

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

bool may_be_collection(const InputFile& input, const FileInfo& info) {
  constexpr std::size_t kBeginning = 64;
  if (info.kind != FileKind::kText) return false;
  const std::string text = input.file().read_at(0, kBeginning);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string::npos && text[first] == '{';
}

GraphCollection read_collection_file(const InputFile& input, Console& console) {
  return with_input(input, [&] {
    return internal::read_collection_file(input.file(), input.display(), listener_of(console));
  });
}

GraphCollection read_saved_collection(bool has_trace_options, const InputFile& input, Console& console) {
  if (has_trace_options)
    throw usage_error("options of a trace do not apply to " + input.display() + ", which is traced already");
  return read_collection_file(input, console);
}

Listener listener_of(Console& console) {
  return {log::info, [&](const std::string& text) { console.warning(text); },
          [&](const std::string& text) { console.remark("note", text); }};
}

}  // namespace fxtrace::internal::cli
