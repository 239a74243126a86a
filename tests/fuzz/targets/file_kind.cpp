// Fuzz target: identification of any file.
#include "archive/file_kind.h"

#include <string>

#include "archive/compiled_model.h"
#include "archive/zip_archive.h"
#include "security/security_scan.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/targets.h"

namespace fxtrace::internal::fuzz {
namespace {

constexpr std::size_t kMaxRecords = 30;
constexpr std::size_t kMaxBytes = 1'000'000;

void read_records(const ZipArchive& archive, int levels) {
  std::size_t count = 0;
  for (const auto& entry : archive.entries()) {
    if (++count > kMaxRecords) break;
    require(archive.contains(entry.name), "an entry is contained");
    archive.find_stored(entry.name);
    accepts([&] { archive.read(entry.name, 10); });
    std::size_t size = 0;
    if (!accepts([&] { size = archive.read(entry.name, kMaxBytes).size(); })) continue;
    require(size <= kMaxBytes, "no more is read than was asked for");
    if (levels > 0) accepts([&] { read_records(ZipArchive(archive, entry.name), levels - 1); });
  }
}

}  // namespace

void file_kind(std::string_view input) {
  const ModelFile file = memory_file(input);
  accepts([&] {
    const FileInfo info = identify_file(file);
    require(!info.what.empty(), "it is said what the file is");
    require(is_traceable(info.kind) == info.advice.empty(), "there is advice for what cannot be traced");
    not_traceable(info);
    scan_security(file, info);
    for (const CompiledModel& model : read_compiled_models(info)) {
      require(!model.files.empty(), "a compiled model has a file");
    }
  });
  describe_machine_code(input);
  CompiledModel model;
  accepts([&] { read_generated_source(input, "it", model); });
  ZipArchive::has_end_record(file);
  accepts([&] { read_records(ZipArchive(file), 1); });
}

}  // namespace fxtrace::internal::fuzz
