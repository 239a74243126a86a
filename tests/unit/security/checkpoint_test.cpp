// Shards of distributed checkpoints, which are chains of archives, and the ranges that their metadata names.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "archive/file_kind.h"
#include "archive/zip_archive.h"
#include "catch.h"
#include "folder.h"
#include "security/checkpoint_check.h"
#include "security/security_scan.h"
#include "tests/fuzz/stored_zip.h"

using namespace fxtrace::internal;

namespace {

using Lines = std::vector<std::string>;

const std::string kDict = "\x80\x02}.";
const std::string kCall =
    "\x80\x02"
    "cos\nsystem\nU\x02ls\x85R.";

std::string saved(const std::string& pickle, const std::string& first = "archive/data.pkl") {
  return fuzz::stored_zip({{first, pickle}, {"archive/version", "3\n"}});
}

Lines lines_of(const std::vector<SecurityFinding>& findings) {
  Lines lines;
  for (const SecurityFinding& each : findings)
    lines.push_back(std::string(to_string(each.kind)) + " " + each.record + ": " + each.message);
  return lines;
}

Lines found_in(const std::string& content) {
  const Folder folder;
  const ModelFile file(folder.file(content));
  return lines_of(scan_security(file, identify_file(file)));
}

std::string integer(std::uint32_t value) {
  std::string bytes = "J";
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>((value >> (8 * i)) & 0xff);
  return bytes;
}
std::string text(const std::string& value) {
  return "U" + std::string(1, static_cast<char>(value.size())) + value;
}
std::string object(const std::string& type, const std::string& state) {
  return "ctorch.distributed.checkpoint." + type + "\n)\x81" + state + "b";
}
std::string dict(const std::string& items) { return "}(" + items + "u"; }
std::string state_of(const std::string& path, std::uint32_t offset, std::uint32_t length,
                     const std::string& more = "") {
  return dict(text("relative_path") + path + text("offset") + integer(offset) + text("length") +
              integer(length) + more);
}
std::string info(const std::string& path, std::uint32_t offset, std::uint32_t length,
                 const std::string& more = "") {
  return object("filesystem\n_StorageInfo", state_of(path, offset, length, more));
}
std::string metadata_of(const std::string& storage_data) {
  return "\x80\x02" + object("metadata\nMetadata", dict(text("storage_data") + storage_data)) + ".";
}
std::string metadata(const std::string& item) { return metadata_of(dict(text("w") + item)); }

// Returns what is found in metadata beside the shard "__0_0.distcp".
Lines found_beside(const std::string& shard, const std::string& metadata) {
  const Folder folder;
  const ModelFile file(folder.file(metadata, ".metadata"));
  security::CheckpointShards shards;
  shards.shards.push_back({"__0_0.distcp", ModelFile(folder.file(shard, "__0_0.distcp"))});
  shards.count = 1;
  return lines_of(scan_security(file, identify_file(file), &shards));
}

}  // namespace

TEST_CASE("checkpoint: a chain of archives", "[security]") {
  const Folder folder;
  const std::string a = saved(kDict), b = saved(kDict + std::string(100, ' '));
  const auto ranges = [&](const std::string& content) { return find_saved_archives(folder.file(content)); };
  const std::uint64_t one = a.size(), two = b.size();
  CHECK(ranges(a) == std::vector<FileRange>{{0, one}});
  CHECK(ranges(a + b + a) == std::vector<FileRange>{{0, one}, {one, two}, {one + two, one}});
  for (const std::string& other :
       {std::string(), "x" + a, a + "x", a + "x" + b, a.substr(1) + b, a + b.substr(0, two - 1),
        a + saved(kDict, "other/data.pkl"), saved(kDict, "other/data.pkl") + a})
    CHECK(ranges(other).empty());

  const FileInfo info = identify_file(folder.file(a + b));
  CHECK(std::string(to_string(info.kind)) == "torch_save");
  CHECK_THAT(info.what, ContainsSubstring("a shard of a distributed checkpoint (2 files"));
  CHECK(found_in(a + saved(kDict) + a).empty());
  CHECK(found_in(a + a + saved(kCall) + a) ==
        Lines{"pickle [2]/archive/data.pkl: its pickle calls os.system"});
  // An archive in the middle that is damaged does not hide the others.
  std::string damaged = a;
  damaged[damaged.find("version")] = 'V';
  const Lines lines = found_in(saved(kCall) + damaged + a);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0] == "pickle [0]/archive/data.pkl: its pickle calls os.system");
  CHECK_THAT(lines[1], ContainsSubstring("size [1]: "));
}

TEST_CASE("checkpoint: a chain that torch.load would read as another archive", "[security]") {
  // The directory of the last archive is where, from the beginning of the file, another one is hidden.
  const std::string last = saved(kDict + std::string(2'000, ' '));
  const std::string evil = saved(kCall);
  const std::size_t place = last.find("PK\x01\x02");
  const std::string directory = evil.substr(evil.find("PK\x01\x02"), last.size() - 22 - place);
  REQUIRE(directory.size() == last.size() - 22 - place);
  std::string first = saved(kDict + std::string(4'000, ' '));
  const Folder folder;
  CHECK(find_saved_archives(folder.file(first + last)).size() == 2);
  const std::string hidden = kDict + std::string(place - first.find(kDict) - kDict.size(), ' ') + directory;
  first = saved(hidden + std::string(100, ' '));
  REQUIRE(first.substr(place, directory.size()) == directory);
  CHECK_THROWS_WITH(find_saved_archives(folder.file(first + last)), ContainsSubstring("another directory"));
}

TEST_CASE("checkpoint: metadata names whole archives of shards beside it", "[security]") {
  const std::string a = saved(kDict), b = saved("\x80\x02X" + integer(200).substr(1) + kCall +
                                                std::string(200 - kCall.size(), ' ') + ".");
  const std::string shard = a + b + a;
  const auto first = static_cast<std::uint32_t>(a.size()), second = static_cast<std::uint32_t>(b.size());
  const std::string name = text("__0_0.distcp");
  const auto found = [&](const std::string& item) { return found_beside(shard, metadata(item)); };
  CHECK(found(info(name, 0, first)).empty());
  CHECK(found(info(name, first, second)).empty());
  CHECK(found(info(name, first + second, first)).empty());

  const auto tells = [](const Lines& lines, const std::string& what) {
    CAPTURE(lines);
    REQUIRE_FALSE(lines.empty());
    CHECK_THAT(lines.front(), ContainsSubstring(what));
  };
  const auto at = static_cast<std::uint32_t>(shard.find(kCall));
  const Lines inside = found(info(name, at, static_cast<std::uint32_t>(kCall.size())));
  tells(inside, "unknown : it reads 20 bytes from byte " + std::to_string(at) + " on of '__0_0.distcp'");
  REQUIRE(inside.size() == 2);
  CHECK_THAT(inside[1], ContainsSubstring("read as a pickle, it calls os.system"));
  tells(found(info(name, 0, first + second)), "unknown : it reads");
  tells(found(info(name, 0, first - 1)), "unknown : it reads");
  tells(found(info(name, 1, first)), "unknown : it reads");
  tells(found(info(name, first, 0x7fffffff)), "size : it reads 2147483647 bytes");
  tells(found(info(name, 0xffffffff, first)), "unknown : cannot tell");
  tells(found(info(text("../__0_0.distcp"), 0, first)), "path : it reads");
  tells(found(info(text("/etc/__0_0.distcp"), 0, first)), "path : it reads");
  tells(found(info(text("a/__0_0.distcp"), 0, first)), "unknown : cannot tell what it reads");
  tells(found(info(text("__0_1.distcp"), 0, first)), "no .distcp file beside it");
  tells(found(info("V\\u005f_0_0.distcp\n", 0, first)), "unknown : cannot tell");
  tells(found(info(name, 0, first, text("transform_descriptors") + "](" + text("stream.zstd/1") + "e")),
        "are transformed");
  tells(found(info(name, 0, first, text("transform_descriptors") + "N")), "are transformed");

  // What Python reads otherwise than it looks.
  const std::string good = state_of(name, 0, first), bad = state_of(name, 0, first - 1);
  tells(found(object("filesystem\n_StorageInfo", bad + "b" + good)), "not written as");
  tells(found(object("filesystem\n_StorageInfo", state_of(name, 0, first, text("offset") + integer(9)))),
        "not written as");
  tells(found(object("filesystem\n_StorageInfo", "ccollections\nOrderedDict\n](](" + text("offset") +
                                                     integer(9) + "ee\x85R(" + good.substr(2))),
        "not written as");
  tells(found(object("metadata\nStorageMeta", good)), "not written as");
  tells(found_beside(
            shard, metadata_of("ccollections\nOrderedDict\n](](" + text("w") + info(name, 9, 9) + "ee\x85R")),
        "not written as");
  tells(found_beside(shard, kDict), "is something else");
  tells(found_in(metadata(info(name, 0, first))), "not under its name");
}
