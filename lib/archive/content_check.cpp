#include "archive/content_check.h"

#include <cstddef>
#include <cstdint>
#include <memory>

#include "support/error.h"

namespace fxtrace::internal {
namespace {

using OnRecord = std::function<void(const ZipArchive&, const ZipArchive::Entry&, const std::string& name)>;

constexpr int kMaxLevels = 3;  // of archives in archives
constexpr std::string_view kZipMark = "PK\x03\x04";

// Returns the archive in a record; null if it is not one.
std::unique_ptr<const ZipArchive> find_nested(const ZipArchive& archive, const ZipArchive::Entry& entry) {
  try {
    if (entry.size < kZipMark.size() || archive.read(entry, kZipMark.size()) != kZipMark) return nullptr;
    return std::make_unique<const ZipArchive>(archive, entry.name);
  } catch (const Error&) {
    return nullptr;  // weights may begin with any bytes, and damage is told of the record
  }
}

void visit(const ZipArchive& archive, const std::string& prefix, int level, const OnRecord& f) {
  for (const ZipArchive::Entry& entry : archive.entries()) {
    f(archive, entry, prefix + entry.name);
    if (level == kMaxLevels) continue;
    if (const auto nested = find_nested(archive, entry))
      visit(*nested, prefix + entry.name + "/", level + 1, f);
  }
}

}  // namespace

void for_each_record(const ZipArchive& archive, const OnRecord& f) { visit(archive, "", 0, f); }

std::string damage_text(const std::vector<std::string>& records) {
  const std::size_t others = records.size() - 1;
  return "record " + records.front() + ": " + kWrongBytes +
         (others == 0 ? "" : ", and so in " + std::to_string(others) + (others == 1 ? " other" : " others"));
}

std::vector<ContentFault> check_content(const ModelFile& file, const FileInfo& info) {
  std::vector<ContentFault> faults;
  constexpr std::size_t kMostFaults = 10'000;
  const auto tell = [&](ContentFault fault) {
    if (faults.size() < kMostFaults) faults.push_back(std::move(fault));
  };
  const auto check = [&](const ZipArchive& archive, const std::string& prefix) {
    archive.check_is_whole();
    visit(archive, prefix, 0,
          [&](const ZipArchive& in, const ZipArchive::Entry& entry, const std::string& name) {
            if (entry.size > 0 && entry.crc == 0) {
              tell({name, "the archive has no checksum of its bytes", true});
            } else if (!in.is_intact(entry)) {
              tell({name, kWrongBytes});
            }
          });
  };
  const std::vector<FileRange> chain = info.kind == FileKind::kTorchSave && info.zip == nullptr
                                           ? find_saved_archives(file)
                                           : std::vector<FileRange>();
  for (std::size_t i = 0; i < chain.size(); ++i)
    check(ZipArchive(file, chain[i]), "[" + std::to_string(i) + "]/");
  if (info.zip != nullptr) {
    check(*info.zip, "");
  } else if (chain.empty()) {
    tell({"", "the file has no checksums of its content", true});
  }
  return faults;
}

}  // namespace fxtrace::internal
