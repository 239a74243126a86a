// The bytes of records: digests, and comparison with the checksums of the archive.
#include "archive/content_check.h"

#include <filesystem>
#include <string>
#include <vector>

#include "archive/file_kind.h"
#include "archive/model_file.h"
#include "archive/zip_archive.h"
#include "catch.h"
#include "folder.h"
#include "support/hashes.h"

namespace fxtrace::internal {
namespace {

// Bytes that cannot be compressed, so that they stand in the file as they are.
std::string noise(std::size_t size, std::uint32_t seed) {
  std::string bytes;
  for (std::size_t i = 0; i < size; ++i) {
    seed = seed * 1'664'525 + 1'013'904'223;
    bytes += static_cast<char>(seed >> 24);
  }
  return bytes;
}

std::string read(const std::string& file) { return ModelFile(file).read_whole(); }

// Changes a byte of `part` in the file.
void damage(const std::string& file, const std::string& part) {
  std::string bytes = read(file);
  const std::size_t at = bytes.find(part);
  REQUIRE(at != std::string::npos);
  bytes[at + part.size() / 2] ^= 1;
  std::ofstream(file, std::ios::binary) << bytes;
}

std::vector<std::string> faults_of(const std::string& file) {
  const ModelFile opened(file);
  std::vector<std::string> faults;
  for (const ContentFault& fault : check_content(opened, identify_file(opened))) {
    CHECK(fault.is_undecided == (fault.message != kWrongBytes));
    faults.push_back(fault.record);
  }
  return faults;
}

TEST_CASE("content: bytes that do not match their checksum", "[archive]") {
  const Folder folder;
  const std::string weights = noise(3'000'000, 1), text(5'000, 'a');
  const std::string file = folder.zip({{"m/data/0", weights}, {"m/text", text}, {"m/empty", ""}});
  CHECK(faults_of(file).empty());
  damage(file, weights.substr(2'500'000, 100));
  CHECK(faults_of(file) == std::vector<std::string>{"m/data/0"});
  CHECK(faults_of(folder.file("text")) == std::vector<std::string>{""});
}

TEST_CASE("content: of archives in records, compressed or not", "[archive]") {
  const Folder folder;
  const std::string weights = noise(10'000, 2), others = noise(10'000, 3);
  for (const bool is_compressed : {false, true}) {
    CAPTURE(is_compressed);
    const std::string inner =
        read(folder.zip({{"a/data/0", weights}, {"a/x", std::string(is_compressed ? 100'000 : 0, 'x')}}));
    const std::string file = folder.zip({{"m/in.pt", inner}, {"m/data/0", others}});
    CHECK(faults_of(file).empty());
    std::vector<std::string> names;
    const ModelFile opened(file);
    for_each_record(ZipArchive(opened), [&](const ZipArchive&, const ZipArchive::Entry&,
                                            const std::string& name) { names.push_back(name); });
    CHECK(names == std::vector<std::string>{"m/in.pt", "m/in.pt/a/data/0", "m/in.pt/a/x", "m/data/0"});
    damage(file, others.substr(50, 50));
    CHECK(faults_of(file) == std::vector<std::string>{"m/data/0"});
  }
}

TEST_CASE("content: digests are of bytes, and each record is read once", "[archive]") {
  const Folder folder;
  const std::string weights = noise(3'000'000, 4);
  Sha256 hash;
  hash.add(weights);
  ModelFile file(folder.zip({{"m/data/0", weights}, {"m/same", weights}, {"m/x", std::string(70'000, 'x')}}));
  CHECK(ZipArchive(file).content_key("m/data/0", 0, {}, {}).size() < 20);
  CHECK(file.digests() == nullptr);
  file.verify_content();
  for (int i = 0; i < 2; ++i) {
    const ZipArchive zip(file);
    CHECK(zip.content_key("m/data/0", 0, {}, {}) == hash.digits() + "-3000000");
    CHECK(zip.content_key("m/same", 2, {3, 2}, {1, 3}) == hash.digits() + "-3000000+2/1,3");
    CHECK(zip.content_key("m/x", 0, {}, {}).size() == 64 + 6);
  }
  CHECK(file.digests()->by_place.size() == 3);
  CHECK(file.digests()->damaged.empty());
  damage(file.path(), weights.substr(1'000, 100));
  ModelFile damaged(file.path());
  damaged.verify_content();
  const ModelFile copy = damaged;
  CHECK(ZipArchive(copy).content_key("m/data/0", 0, {}, {}) != hash.digits() + "-3000000");
  CHECK(damage_text(damaged.digests()->damaged) == std::string("record m/data/0: ") + kWrongBytes);
}

}  // namespace
}  // namespace fxtrace::internal
