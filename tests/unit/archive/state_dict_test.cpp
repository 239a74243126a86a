// Reading the tensors of a checkpoint: names, storages, hostile pickles.
#include "archive/stored_tensors.h"

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <zip.h>

#include "archive/zip_archive.h"
#include "catch.h"
#include "support/error.h"
#include "support/scope_guard.h"

using namespace fxtrace::internal;
using namespace std::string_literals;

namespace {

struct Record {
  std::string name, data;
  bool compressed = false;
};

// A zip archive in a file that is removed after the test.
class ZipFile {
 public:
  explicit ZipFile(const std::vector<Record>& records) {
    std::string name = (std::filesystem::temp_directory_path() / "fxtrace_test.XXXXXX").string();
    const int file = ::mkstemp(name.data());
    REQUIRE(file >= 0);
    ::close(file);
    path_ = name;
    zip_t* zip = zip_open(path_.c_str(), ZIP_CREATE | ZIP_TRUNCATE, nullptr);
    REQUIRE(zip != nullptr);
    for (const auto& record : records) {
      zip_source_t* source = zip_source_buffer(zip, record.data.data(), record.data.size(), 0);
      const zip_int64_t index = zip_file_add(zip, record.name.c_str(), source, ZIP_FL_ENC_UTF_8);
      REQUIRE(index >= 0);
      const auto method = record.compressed ? ZIP_CM_DEFLATE : ZIP_CM_STORE;
      REQUIRE(zip_set_file_compression(zip, static_cast<zip_uint64_t>(index), method, 0) == 0);
    }
    REQUIRE(zip_close(zip) == 0);
  }
  ~ZipFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  ZipFile(const ZipFile&) = delete;
  ZipFile& operator=(const ZipFile&) = delete;

  const std::string& path() const { return path_; }
  std::string bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return (std::ostringstream() << file.rdbuf()).str();
  }

 private:
  std::string path_;
};

// --- pickles, opcode by opcode ---

std::string little_endian(std::uint64_t value, int size) {
  std::string bytes;
  for (int i = 0; i < size; ++i) bytes += static_cast<char>((value >> (8 * i)) & 0xff);
  return bytes;
}
std::string text(const std::string& value) { return "X" + little_endian(value.size(), 4) + value; }
std::string integer(std::int64_t value) {
  return "\x8a\x08"s + little_endian(static_cast<std::uint64_t>(value), 8);
}
std::string global(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}
std::string tuple(const std::vector<std::string>& items) {
  std::string bytes = "(";
  for (const auto& item : items) bytes += item;
  return bytes + "t";
}
std::string integers(const std::vector<std::int64_t>& values) {
  std::vector<std::string> items;
  for (const auto value : values) items.push_back(integer(value));
  return tuple(items);
}
std::string call(const std::string& name, const std::vector<std::string>& arguments) {
  return global("torch._utils", name) + tuple(arguments) + "R";
}
std::string storage(const std::string& key, const std::string& type = "FloatStorage") {
  return tuple({text("storage"), global("torch", type), text(key), text("cpu"), integer(8)}) + "Q";
}
std::string tensor(const std::string& storage, std::int64_t offset = 0,
                   const std::vector<std::int64_t>& sizes = {2, 3},
                   const std::vector<std::int64_t>& strides = {3, 1}) {
  return call("_rebuild_tensor_v2",
              {storage, integer(offset), integers(sizes), integers(strides), "\x89", "}"});
}
std::string dict_of(const std::vector<std::pair<std::string, std::string>>& items) {
  std::string bytes = "\x80\x02}(";
  for (const auto& [name, value] : items) bytes += text(name) + value;
  return bytes + "u.";
}

std::clock_t reading = 0;  // the processor time of all reads, without that of making the files

std::vector<StoredTensor> read_pickle(const std::string& pickle, bool compressed = false) {
  const ZipFile inner({{"archive/data.pkl", pickle, compressed}, {"archive/data/0", "bytes"}});
  const ZipFile outer({{"m/before", std::string(1000, 'x')}, {"m/weights.pt", inner.bytes(), compressed}});
  const ZipArchive archive(outer.path());
  const std::clock_t start = std::clock();
  const Restore count([&] { reading += std::clock() - start; });
  return read_state_dict(archive, "m/weights.pt");
}

std::string error_of(const std::string& pickle) {
  try {
    read_pickle(pickle);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kInput);
    return error.what();
  }
  return {};
}

std::string names_of(const std::vector<StoredTensor>& tensors) {
  std::string names;
  for (const auto& found : tensors) names += (names.empty() ? "" : " ") + found.name;
  return names;
}

}  // namespace

TEST_CASE("state dict: what torch.save wrote", "[state_dict]") {
  std::ifstream file(FXTRACE_SOURCE_DIR "/tests/fixtures/files/state_dict.pt", std::ios::binary);
  const std::string saved{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  for (const bool compressed : {false, true}) {
    CAPTURE(compressed);
    const ZipFile outer({{"a", "b"}, {"state_dict.pt", saved, compressed}});
    const auto tensors = read_state_dict(ZipArchive(outer.path()), "state_dict.pt");
    REQUIRE(tensors.size() == 2);
    CHECK(names_of(tensors) == "linear.weight linear.bias");
    CHECK(tensors[0].dtype == "float32");
    CHECK(tensors[0].sizes == std::vector<std::int64_t>{2, 2});
    CHECK(tensors[0].strides == std::vector<std::int64_t>{2, 1});
    CHECK(tensors[0].offset == 0);
    CHECK(tensors[1].sizes == std::vector<std::int64_t>{2});
    CHECK(tensors[0].storage != tensors[1].storage);
  }
}

TEST_CASE("state dict: who shares a storage", "[state_dict]") {
  for (const bool compressed : {false, true}) {
    CAPTURE(compressed);
    const auto tensors = read_pickle(
        dict_of({
            {"embed", tensor(storage("7")) + "q\x01"},
            {"head", call("_rebuild_parameter", {"h\x01", "\x88", "}"})},
            {"view", tensor(storage("7"), 3, {3}, {1})},
            {"own", tensor(storage("8", "BFloat16Storage"))},
            {"f8", call("_rebuild_tensor_v3", {storage("9", "UntypedStorage"), integer(0), integers({}),
                                               integers({}), "\x89", "}", global("torch", "float8_e4m3fn")})},
            {"attributes", global("torch._tensor", "_rebuild_from_type_v2") +
                               tuple({global("torch._utils", "_rebuild_tensor_v2"), global("torch", "Tensor"),
                                      tuple({storage("8"), integer(1), integers({1}), integers({1})}), "}"}) +
                               "R"},
            {"subclass", global("torch._tensor", "_rebuild_from_type_v2") +
                             tuple({global("torch._utils", "_rebuild_tensor_v2"), global("pkg", "Sub"),
                                    tuple({storage("8"), integer(1), integers({1}), integers({1})}), "}"}) +
                             "R"},
            {"quantized", call("_rebuild_qtensor", {storage("10", "QInt8Storage"), integer(0), integers({4}),
                                                    integers({1}), tuple({}), "\x89", "}"})},
        }),
        compressed);
    REQUIRE(names_of(tensors) == "embed head view own f8 attributes subclass quantized");
    CHECK(tensors[0].storage == "7");
    CHECK(tensors[1].storage == "7");
    CHECK(tensors[1].sizes == tensors[0].sizes);
    CHECK(tensors[1].strides == tensors[0].strides);
    CHECK(tensors[2].storage == "7");
    CHECK(tensors[2].offset == 3);
    CHECK(tensors[2].sizes == std::vector<std::int64_t>{3});
    CHECK(tensors[3].dtype == "bfloat16");
    CHECK(tensors[4].dtype == "float8_e4m3fn");
    CHECK(tensors[4].sizes.empty());
    CHECK(tensors[5].storage == "8");
    CHECK(tensors[5].offset == 1);
    CHECK(tensors[6].storage == "8");
    CHECK(tensors[7].dtype == "qint8");
    CHECK(tensors[7].sizes == std::vector<std::int64_t>{4});
  }
}

TEST_CASE("state dict: what is no tensor over a storage is left out", "[state_dict]") {
  std::string nested = tensor(storage("0"));
  for (int i = 0; i < 100; ++i) nested = call("_rebuild_parameter", {nested, "\x88", "}"});
  const auto tensors = read_pickle(dict_of({
      {"number", integer(1)},
      {"object", global("os", "system") + tuple({text("true")}) + "R"},
      {"made_by_nothing", global("torch._tensor", "_rebuild_from_type_v2") +
                              tuple({global("pkg", "make"), global("pkg", "Sub"), tuple({}), "}"}) + "R"},
      {"no_arguments", call("_rebuild_tensor_v2", {})},
      {"no_storage", call("_rebuild_tensor_v2", {integer(0), integer(0), integers({}), integers({})})},
      {"unknown_dtype", tensor(storage("0", "NoStorage"))},
      {"no_integers",
       call("_rebuild_tensor_v2", {storage("0"), integer(0), tuple({text("x")}), integers({})})},
      {"dimensions", tensor(storage("0"), 0, std::vector<std::int64_t>(1000, 1), {})},
      {"long_key", tensor(storage(std::string(100'000, 'k')))},
      {"nested", nested},
      {"kept", tensor(storage("0"))},
      {"twice", integer(1)},
      {"twice", tensor(storage("1"))},
      {"negative", tensor(storage("0"), -5, {-1}, {-2})},
  }));
  CHECK(names_of(tensors) == "kept twice negative");
  CHECK(tensors[2].offset == -5);
  CHECK(read_pickle(dict_of({})).empty());
}

TEST_CASE("state dict: damaged records", "[state_dict]") {
  const std::string pickle = dict_of({{"a", tensor(storage("0"))}, {"b", tensor(storage("1"))}});
  for (std::size_t size = 0; size < pickle.size(); ++size) {
    CAPTURE(size);
    CHECK_THAT(error_of(pickle.substr(0, size)),
               ContainsSubstring("record m/weights.pt: the pickle is damaged"));
  }
  for (std::size_t at = 0; at < pickle.size(); ++at) {  // whatever comes, it comes back
    std::string flipped = pickle;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x11);
    error_of(flipped);
  }
  CHECK_THAT(error_of("\x80\x02]."s), ContainsSubstring("not a dict"));
  CHECK_THAT(error_of("\x80\x02}\xff."s), ContainsSubstring("damaged"));

  const ZipFile outer({{"text", "no archive at all"}, {"empty", ""}});
  const ZipArchive archive(outer.path());
  CHECK_THROWS_AS(read_state_dict(archive, "missing"), Error);
  CHECK_THROWS_AS(read_state_dict(archive, "text"), Error);
  CHECK_THROWS_AS(read_state_dict(archive, "empty"), Error);
  const ZipFile other({{"readme", "an archive"}, {"license", "without a pickle"}});
  const ZipFile around(
      {{"other", other.bytes()}, {"cut", other.bytes().substr(0, other.bytes().size() / 2)}});
  CHECK_THROWS_AS(read_state_dict(ZipArchive(around.path()), "other"), Error);
  CHECK_THROWS_AS(read_state_dict(ZipArchive(around.path()), "cut"), Error);
}

TEST_CASE("state dict: hostile pickles end soon", "[state_dict]") {
  reading = 0;
  CHECK_THAT(error_of(std::string(20'000'000, 'N')), ContainsSubstring("refusing"));
  CHECK_THAT(error_of(std::string(7'000'000, '(')), ContainsSubstring("damaged"));
  CHECK_THAT(error_of(std::string(7'000'000, ')') + "\x85"), ContainsSubstring("damaged"));
  CHECK_THAT(error_of("}r\xff\xff\xff\xff" + std::string(100, '}')), ContainsSubstring("damaged"));
  // One tensor under many names, and many tensors with one long name.
  std::string many = "}(" +
                     tensor(storage(std::string(64, 'k')), 0, std::vector<std::int64_t>(64, 1),
                            std::vector<std::int64_t>(64, 1)) +
                     "q\x01"
                     "0";
  for (int i = 0; i < 300'000; ++i) many += text(std::to_string(i)) + "h\x01";
  CHECK_THAT(error_of(many + "u."), ContainsSubstring("tensors"));
  std::string one = "}(" + tensor(storage("0")) +
                    "q\x01"
                    "0" +
                    text(std::string(1'000'000, 'n')) +
                    "q\x02"
                    "0";
  for (int i = 0; i < 1'000'000; ++i) one += "h\x02h\x01";
  CHECK(read_pickle(one + "u.").size() == 1);
  // A pickle of two gigabytes, compressed to a small file.
  CHECK_THROWS_AS(read_pickle(std::string(100'000'000, 'N'), true), Error);
#ifdef __SANITIZE_ADDRESS__
  constexpr std::clock_t kSoon = 60;
#else
  constexpr std::clock_t kSoon =
      10;  // seconds: four times what it takes unoptimised; what is not refused takes minutes
#endif
  CHECK(reading < kSoon * CLOCKS_PER_SEC);
}

TEST_CASE("zip archive: an archive in a record", "[state_dict]") {
  const ZipFile inner({{"a", std::string(50'000, 'a')}, {"b", std::string(50'000, 'b'), true}});
  const ZipFile middle({{"inner", inner.bytes()}, {"small", inner.bytes(), true}});
  const ZipFile outer({{"before", "x"}, {"middle", middle.bytes()}});
  const ZipArchive first(outer.path());
  const ZipArchive second(first, "middle");
  for (const char* name : {"inner", "small"}) {
    CAPTURE(name);
    const ZipArchive third(second, name);
    CHECK(third.entries().size() == 2);
    CHECK(third.read("a", 100'000) == std::string(50'000, 'a'));
    CHECK(third.read("b", 100'000) == std::string(50'000, 'b'));
    CHECK_FALSE(third.find_stored("b"));
    if (name == "small"s) {
      CHECK_FALSE(third.find_stored("a"));  // no file has its bytes
    } else {
      const auto offset = third.find_stored("a");
      REQUIRE(offset);
      CHECK(outer.bytes().substr(static_cast<std::size_t>(*offset), 50'000) == std::string(50'000, 'a'));
    }
  }
}
