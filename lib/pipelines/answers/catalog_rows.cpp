#include "pipelines/answers/catalog_rows.h"

#include <cstdint>
#include <functional>
#include <sstream>
#include <utility>

#include "archive/content_check.h"
#include "archive/model_file.h"
#include "catalog/model_rows.h"
#include "catalog/tables.h"
#include "exported/program/exported_archive.h"
#include "partition/partition.h"
#include "pipelines/configs.h"
#include "pipelines/passes.h"
#include "pipelines/read_model.h"
#include "support/error.h"

namespace fxtrace::internal {
namespace {

// Writes the rows of write(), or an error row if it throws.
void write_or_tell(const std::string& program, std::ostream& out,
                   const std::function<void(catalog::RowWriter&)>& write) {
  std::ostringstream text;
  catalog::RowWriter rows(text);
  try {
    write(rows);
  } catch (const Error& error) {
    text.str("");
    write_error_row(error, program, rows);
  }
  out << text.view();
}

// Writes what backends take of the model.
void write_backends(const CatalogReading& reading, const NamedFile& file, const FileInfo& info, Run& run,
                    catalog::RowWriter& rows) {
  if (reading.backends.empty()) return;
  const GraphCollection collection = operators_of(config_for(reading.config, info.kind), file, info, run);
  for (const Rule& backend : reading.backends) {
    PartitionRequest request;
    request.sets.push_back(set_of(backend));
    const Partition found = partition(collection, std::move(request));
    const LeftReason* first = found.reasons.empty() ? nullptr : &found.reasons.front();
    rows.row(catalog::TableId::kBackends,
             {backend.set, static_cast<std::int64_t>(found.regions()), found.calls.all, found.calls.taken,
              found.operators.all, found.operators.taken, catalog::number_cell(found.macs),
              catalog::number_cell(found.taken_macs), found.cut_edges,
              found.cut_unknown > 0 ? catalog::Cell() : catalog::number_cell(found.cut_bytes),
              first == nullptr ? catalog::Cell() : catalog::Cell(first->target),
              first == nullptr ? catalog::Cell() : catalog::Cell(first->text)});
  }
}

void write_collection(const Config& config, const NamedFile& file, Run& run, catalog::RowWriter& rows) {
  GraphCollection& collection = run.keep_alive(read_collection_file(file.file, run.listener()));
  run_passes(config.passes, collection, run.listener());
  write_model_rows(collection, {}, rows);
}

// `program` names the program in an archive of several.
void write_traced(const Config& config, const NamedFile& file, const FileInfo& info,
                  const std::string& program, Run& run, catalog::RowWriter& rows) {
  TraceRequest wanted;
  wanted.description = true;
  wanted.graphs_if_any = true;
  TraceResult& result =
      trace_file(file, info, config_for_costs(config_for(config, info.kind), info.kind), wanted, run);
  run_passes(config.passes, result.collection, run.listener());
  write_model_rows(result.collection, {program, result.description.producer}, rows);
}

// Returns the programs to read, if the archive has several.
std::vector<std::string> programs_of(const Config& config, const FileInfo& info) {
  if (config.options.model || info.kind != FileKind::kExportedProgram) return {};
  std::vector<std::string> programs = ExportedArchive(info).models();
  if (programs.size() == 1) programs.clear();
  return programs;
}

// Writes the rows of a collection, of a model, or of each program of an archive.
void write_rows(const CatalogReading& reading, const NamedFile& file, const FileInfo& info, Run& run,
                std::ostream& out) {
  std::vector<std::string> programs;
  const Config& config = reading.config;
  write_or_tell("", out, [&](catalog::RowWriter& rows) {
    if (may_be_collection(file.file, info)) {
      write_collection(config, file, run, rows);
      return write_backends(reading, file, info, run, rows);
    }
    if (!is_traceable(info.kind)) throw not_traceable(info).at(file.file.path());
    programs = programs_of(config, info);
    if (!programs.empty()) return;
    write_traced(config, file, info, "", run, rows);
    write_backends(reading, file, info, run, rows);
  });
  for (const std::string& program : programs) {
    write_or_tell(program, out, [&](catalog::RowWriter& rows) {
      CatalogReading own = reading;
      own.config.options.model = program;
      write_traced(own.config, file, info, program, run, rows);
      write_backends(own, file, info, run, rows);
    });
  }
}

}  // namespace

std::string settings_of(const Config& config, const std::vector<Rule>& backends, bool verifies_content) {
  std::string settings = std::string("fxtrace ") + FXTRACE_VERSION + " " + options_json(config);
  if (verifies_content) settings += " --verify-content";
  for (const Rule& backend : backends) settings += "\n" + backend.name + "\n" + backend.set_text;
  return settings;
}

void write_catalog_rows(CatalogReading reading, const NamedFile& named, Run& run, std::ostream& out) {
  const ModelFile& file = named.file;
  open_libraries(reading.config.options, false, run);
  FileInfo info;
  try {
    info = identify_file(file);
  } catch (const Error& error) {
    out << catalog::content_key(file, {}) << "\n";
    catalog::RowWriter rows(out);
    return write_error_row(error, "", rows);
  }
  const std::string key = catalog::content_key(file, info);
  out << key << "\n";
  if (const auto& digests = file.digests(); digests && !digests->damaged.empty()) {
    catalog::RowWriter rows(out);
    return write_error_row(input_error(damage_text(digests->damaged)), "", rows);
  }
  if (key != reading.known) write_rows(reading, named, info, run, out);
}

}  // namespace fxtrace::internal
