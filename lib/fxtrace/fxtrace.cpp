#include "fxtrace/fxtrace.h"

#include <filesystem>
#include <utility>

#include "archive/file_kind.h"
#include "archive/model_file.h"
#include "fxtrace/pipeline.h"
#include "fxtrace/saved_collection.h"

namespace fxtrace::internal {
namespace {

template <class F>
auto at_file(const std::string& path, F&& f) {
  try {
    return f();
  } catch (Error& error) {
    error.at(path);
    throw;
  }
}

}  // namespace

GraphCollection trace(const std::string& path, const Config& config, const Listener& listener) {
  check_passes(config.passes);
  Stages unwatched;
  Config with_libraries = config;
  at_file(path, [&] { return open_libraries(with_libraries.options, false, listener, unwatched); });
  const ModelFile file(path);
  const FileInfo info = at_file(path, [&] { return identify_file(file); });
  TraceResult result =
      trace_file(file, info, std::filesystem::path(path).filename().string(), with_libraries, {}, listener);
  run_passes(config.passes, result.collection);
  return std::move(result.collection);
}

GraphCollection read_json(const std::string& path, const Listener& listener) {
  return at_file(path, [&] { return read_collection_file(ModelFile(path), path, listener); });
}

std::vector<PassReport> apply_passes(const std::vector<std::string>& names, GraphCollection& collection) {
  check_passes(names);
  auto reports = run_passes(names, collection);
  add_to_options(names, collection);
  return reports;
}

}  // namespace fxtrace::internal
