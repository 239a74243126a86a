#include "pipelines/answers/explain.h"

#include <algorithm>
#include <cstdint>

#include "graph/analysis/collection_summary.h"
#include "pipelines/passes.h"
#include "pipelines/saved_collection.h"
#include "trace/options/input_spec.h"
#include "trace/search/suggestions.h"

namespace fxtrace::internal {
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
