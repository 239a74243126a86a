#include "pipelines/answers/inspect.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "archive/compiled_model.h"
#include "exported/program/exported_archive.h"
#include "pipelines/passes.h"
#include "support/error.h"

namespace fxtrace::internal {
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
  if (info.kind == FileKind::kExportedProgram && !options.model)
    inspection.compiled = at_file(file.file, [&] { return compiled_models_of(info, options); });
  return inspection;
}

}  // namespace fxtrace::internal
