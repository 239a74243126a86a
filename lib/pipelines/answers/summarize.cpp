#include "pipelines/answers/summarize.h"

#include <cstdint>
#include <optional>
#include <string>

#include "pipelines/configs.h"
#include "pipelines/model_costs.h"
#include "support/error.h"
#include "support/text/shell_word.h"

namespace fxtrace::internal {
namespace {

// If the peak is not one expression, computes it for example sizes.
void add_example_peak(const GraphCollection& collection, ModelSummary& summary) {
  if (summary.peak_bytes || !summary.activation_bytes || collection.graphs.empty()) return;
  const auto example = example_sizes(summary);
  std::vector<GivenSizes> sizes;
  for (const std::string& name : names_of_sizes(collection)) {
    const auto known = example.sizes.find(name);
    if (known == example.sizes.end()) return;
    sizes.push_back({name, {known->second}});
  }
  if (sizes.empty()) return;
  try {
    GraphCollection there = collection;
    set_sizes(there, sizes);
    const auto& cost = there.graphs.front().cost;
    if (cost && cost->peak_bytes) summary.example_peak = cost->peak_bytes->number();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kUsage) throw;
    // The model does not take these sizes.
  }
}

ModelSummary summarize_collection(const Config& config, const std::vector<GivenSizes>& at,
                                  GraphCollection& collection, const Listener& listener) {
  apply_costs(config, at, collection, listener);
  ModelSummary summary = summarize_model(collection);
  add_example_peak(collection, summary);
  return summary;
}

// Returns a command that gives shapes: "fxtrace summary model.pt --input x=float32[1,3,224,224]".
std::optional<std::string> shape_hint(const NamedFile& file, const TraceResult& result) {
  const auto& options = result.hint && result.hint->has_inputs ? result.hint->options : result.input_options;
  if (options.empty()) return std::nullopt;
  std::string text = "fxtrace summary " + shell_path(file.name == "-" ? file.name : file.file.path());
  for (const std::string& option : options) text += " " + option;
  return text;
}

ModelSummary summarize_trace(const Config& given, const std::vector<GivenSizes>& at, const NamedFile& file,
                             const FileInfo& info, Run& run) {
  if (!is_traceable(info.kind)) throw not_traceable(info).at(file.file.path());
  const Config config = config_for_costs(given, info.kind);
  const bool lacks_inputs = info.kind == FileKind::kTorchScript && config.options.inputs.empty();
  TraceRequest wanted;
  wanted.description = true;
  wanted.graphs_if_any = true;
  wanted.hint = wanted.input_options = lacks_inputs;
  TraceResult& result = trace_file(file, info, config, wanted, run);
  ModelSummary summary = summarize_collection(config, at, result.collection, run.listener());
  summary.producer = result.description.producer;
  for (const ConstantInfo& constant : result.description.constants) {
    const auto add = [&](const std::vector<std::int64_t>& shape, const std::string& dtype) {
      summary.constants.add(shape, dtype);
      add_saturated(summary.dtypes[dtype], byte_count(shape, dtype));
    };
    if (!constant.dtype.empty()) add(constant.shape, constant.dtype);
    for (const StoredPart& part : constant.stored) add(part.shape, part.dtype);
  }
  if (lacks_inputs) {
    if (const auto hint = shape_hint(file, result)) run.listener().hint(*hint);
  }
  return summary;
}

}  // namespace

ModelSummary summarize_file(const Config& config, const SummaryRequest& request, const NamedFile& file,
                            Run& run) {
  const FileInfo info = identify_file(file.file);
  ModelSummary summary;
  if (may_be_collection(file.file, info)) {
    GraphCollection collection = read_saved_collection(request.has_trace_options, file.file, run.listener());
    summary = summarize_collection(config, request.at, collection, run.listener());
  } else {
    summary = summarize_trace(config, request.at, file, info, run);
  }
  if (config.strict && !summary.failed.empty())
    run.fail_strict(input_error(std::to_string(summary.failed.size()) + " of " +
                                std::to_string(summary.modules) + " modules failed to trace")
                        .at(file.file.path()));
  return summary;
}

}  // namespace fxtrace::internal
