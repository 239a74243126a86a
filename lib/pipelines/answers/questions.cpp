#include "pipelines/answers/questions.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "archive/compiled_model.h"
#include "archive/zip_archive.h"
#include "convert/write/program_rewrite.h"
#include "exported/program/exported_archive.h"
#include "exported/program/exported_program.h"
#include "graph/analysis/collection_summary.h"
#include "operators/releases.h"
#include "pipelines/configs.h"
#include "pipelines/passes.h"
#include "pipelines/read_model.h"
#include "support/error.h"
#include "support/hashes.h"
#include "support/text/did_you_mean.h"
#include "trace/options/input_spec.h"
#include "trace/search/suggestions.h"

namespace fxtrace::internal {
namespace {

// Returns the collection at sizes of an example; nothing if no size has a name, or the model does not take
// them.
std::optional<GraphCollection> at_example(const GraphCollection& collection, const ExampleSizes& example) {
  std::vector<GivenSizes> sizes;
  for (const std::string& name : names_of_sizes(collection)) {
    const auto known = example.sizes.find(name);
    if (known == example.sizes.end()) return std::nullopt;
    sizes.push_back({name, {known->second}});
  }
  if (sizes.empty()) return std::nullopt;
  try {
    GraphCollection there = collection;
    set_sizes(there, sizes);
    return there;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kUsage) throw;
    return std::nullopt;
  }
}

// Adds the timeline of memory, and the peak if that is not one expression: where sizes are no numbers, for an
// example.
void add_memory(const GraphCollection& collection, bool with_timeline, ModelSummary& summary) {
  if (with_timeline) summary.memory.emplace();
  if (!summary.activation_bytes || collection.graphs.empty()) return;
  auto timeline = with_timeline ? find_timeline(collection) : std::nullopt;
  if (summary.peak_bytes && (!with_timeline || timeline)) {
    summary.memory = std::move(timeline);
    return;
  }
  const ExampleSizes example = example_sizes(summary);
  const auto there = at_example(collection, example);
  if (!there) return;
  const auto& cost = there->graphs.front().cost;
  if (cost && cost->peak_bytes && !summary.peak_bytes) summary.example_peak = cost->peak_bytes->number();
  timeline = with_timeline ? find_timeline(*there) : std::nullopt;
  if (!timeline) return;
  summary.memory = std::move(timeline);
  summary.memory_sizes = example.text;
}

ModelSummary summary_at(const Config& config, const SummaryRequest& request, GraphCollection& collection,
                        const Listener& listener) {
  apply_costs(config, request.at, collection, listener);
  ModelSummary summary = summarize_model(collection);
  add_memory(collection, request.memory, summary);
  summary.columns = request.columns;
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

ModelSummary summarize_trace(const Config& given, const SummaryRequest& request, const NamedFile& file,
                             const FileInfo& info, Run& run) {
  if (!is_traceable(info.kind)) throw not_traceable(info).at(file.file.path());
  const Config config = config_for_costs(given, info.kind);
  const bool lacks_inputs = info.kind == FileKind::kTorchScript && config.options.inputs.empty();
  TraceRequest wanted;
  wanted.description = true;
  wanted.graphs_if_any = true;
  wanted.hint = wanted.input_options = lacks_inputs;
  TraceResult& result = trace_file(file, info, config, wanted, run);
  ModelSummary summary = summary_at(config, request, result.collection, run.listener());
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
    summary = summary_at(config, request, collection, run.listener());
  } else {
    summary = summarize_trace(config, request, file, info, run);
  }
  if (request.on) place_on(summary, *request.on);
  if (config.strict && !summary.failed.empty())
    run.fail_strict(input_error(std::to_string(summary.failed.size()) + " of " +
                                std::to_string(summary.modules) + " modules failed to trace")
                        .at(file.file.path()));
  return summary;
}

ModelSummary summarize_collection(const SummaryRequest& request, GraphCollection& collection,
                                  const Listener& listener) {
  ModelSummary summary = summary_at({}, request, collection, listener);
  if (request.on) place_on(summary, *request.on);
  return summary;
}

namespace {

// Returns the list of programs of an archive, which is shown if there are several or a compiled one;
// otherwise the one program is traced.
FileInspection listing_of(const std::string& name, const FileInfo& info, const TraceOptions& options) {
  FileInspection listing{name, info};
  listing.compiled_only = info.kind == FileKind::kAotInductor;
  if (info.kind != FileKind::kExportedProgram) return listing;
  const ExportedArchive archive(info);
  const auto& programs = archive.models();
  if (!options.model) {
    if (programs.size() > 1) listing.to_choose_from = programs;
  } else if (std::ranges::find(programs, *options.model) == programs.end()) {
    listing.compiled_only = archive.has_compiled(*options.model);
  }
  return listing;
}

// Returns all compiled models of the archive, or those that --model names.
std::vector<CompiledModel> compiled_models_of(const FileInfo& info, const TraceOptions& options) {
  auto models = read_compiled_models(info);
  if (!options.model) return models;
  std::erase_if(models, [&](const CompiledModel& model) { return model.name != *options.model; });
  if (models.empty()) {
    throw usage_error("no model named '" + *options.model +
                      "' in the archive; without --model, inspect shows all");
  }
  return models;
}

Inspection::LoadsWith releases_for(const ExportedProgram& program) {
  Releases all{.since = program.archive().first_release()};
  std::vector<ReleaseNeed> needs{{all, "the layout of the archive"}};
  std::ranges::move(needs_of(program.json()), std::back_inserter(needs));
  for (const ReleaseNeed& need : needs) {
    all.since = std::max(all.since, need.releases.since);
    all.until = std::min(all.until, need.releases.until);
  }
  Inspection::LoadsWith result{release_text(all.since), {}, {}};
  if (all.until <= kLastRelease) result.until = release_text(all.until);
  for (const ReleaseNeed& need : needs) {
    const bool decides = (all.since > kFirstRelease && need.releases.since == all.since) ||
                         (result.until && need.releases.until == all.until);
    if (decides) result.because.push_back(need.what);
  }
  return result;
}

}  // namespace

std::variant<FileInspection, Inspection> inspect_file(const Config& config, const NamedFile& file, Run& run) {
  const TraceOptions& options = config.options;
  const FileInfo info = identify_file(file.file);
  FileInspection listing = at_file(file.file, [&] { return listing_of(file.name, info, options); });
  if (listing.compiled_only || !listing.to_choose_from.empty()) {
    listing.compiled = at_file(file.file, [&] { return compiled_models_of(info, options); });
    return listing;
  }
  if (!is_traceable(info.kind)) return listing;

  TraceRequest wanted;
  wanted.description = true;
  wanted.graphs_if_any = true;
  TraceResult& traced = trace_file(file, info, config, wanted, run);
  check_strict({.options = {}, .strict = config.strict}, traced.collection, file.file, run);
  Inspection inspection =
      inspect_model(std::move(traced.collection), std::move(traced.description), info, options.method);
  inspection.max_depth = options.max_depth;
  if (const ExportedProgram* program = as_exported(traced.program.get()))
    inspection.loads_with = at_file(file.file, [&] { return releases_for(*program); });
  if (info.kind == FileKind::kExportedProgram && !options.model)
    inspection.compiled = at_file(file.file, [&] { return compiled_models_of(info, options); });
  return inspection;
}

namespace {

// Returns the range that options give the dimension; for a saved collection, its own options.
Range given_range(const std::string& name, const Config& config, const TraceResult& result) {
  const bool is_saved = result.program == nullptr;
  return make_dimensions(is_saved ? saved_options(result.collection).options : config.options).range(name);
}

void explain_path(const WhyRequest& request, const TraceResult& result, Explanation& explanation) {
  const GraphCollection& collection = result.collection;
  explanation.asked_module = *request.path;
  std::optional<std::string> asked;
  explanation.explained = explain_modules(collection, find_modules(collection, *request.path, asked));
  if (explanation.explained.size() == 1) explanation.explained.front().asked = asked;
  if (result.program != nullptr) explain_calls(*result.program, collection, explanation.explained);
  for (ModuleExplanation& module : explanation.explained) {
    if (module.rule && request.origin_of) module.origin = request.origin_of(*module.rule);
  }
  if (request.folds) fold_alike(explanation.explained);
}

}  // namespace

Material material_of(const Config& config, const NamedFile& file, Run& run) {
  const FileInfo info = identify_file(file.file);
  Material material{file.name, file.file.size(), to_string(info.kind)};
  at_file(file.file, [&] {
    if (info.zip) {
      info.zip->check_is_whole();
      material.licences = find_licences(*info.zip);
    }
    Sha256 hash;
    file.file.for_each_piece(0, file.file.size(), [&](std::string_view piece) { hash.add(piece); });
    material.sha256 = hash.digits();
  });
  if (!is_traceable(info.kind)) return material;
  Config own = config;
  ask_for_operators(own.options);
  TraceRequest wanted;
  wanted.description = true;
  const TraceResult& traced = trace_file(file, info, own, wanted, run);
  material.producer = traced.description.producer;
  material.type = traced.collection.model.type;
  count_operators(traced.collection, material);
  return material;
}

Explanation explain_model(const Config& config, const WhyRequest& request, const NamedFile& file, Run& run) {
  const TraceResult& result = trace_or_read(config, request.has_trace_options, file, run);
  const GraphCollection& collection = result.collection;
  Explanation explanation;
  explanation.model = collection.model;
  explanation.is_saved = result.program == nullptr;
  explanation.modules = std::ranges::count_if(
      collection.modules, [](const ModuleRecord& module) { return !module.alias_of.has_value(); });
  explanation.failed = static_cast<std::int64_t>(count_failed(collection));
  explanation.failures = fold_failures(collection);
  if (request.guard) {
    explanation.guards = find_guards(collection, *request.guard);
  } else if (request.path) {
    explain_path(request, result, explanation);
  } else if (request.dimension) {
    const std::string& name = *request.dimension;
    explanation.dimension = explain_dimension(collection, name, given_range(name, config, result));
    if (result.program != nullptr)
      try_ranges({*result.program, config.options, collection, result.spent}, *explanation.dimension);
  }
  const bool asks_of_failed =
      request.path
          ? std::ranges::any_of(explanation.explained,
                                [](const auto& module) { return module.cause == ModuleCause::kFailed; })
          : !request.dimension && !request.guard && explanation.failed > 0;
  if (asks_of_failed && result.program != nullptr)
    explanation.suggestions = find_suggestions({*result.program, config.options, collection, result.spent});
  check_strict(config, collection, file.file, run);
  return explanation;
}

}  // namespace fxtrace::internal
