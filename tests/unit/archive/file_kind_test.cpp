// Identification of files: kinds, damaged and hostile zip archives.
#include "archive/file_kind.h"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <zip.h>

#include "archive/pickle_machine.h"
#include "archive/zip_archive.h"
#include "catch.h"
#include "folder.h"
#include "support/error.h"
#include "tests/fuzz/stored_zip.h"

using namespace fxtrace::internal;
using namespace std::string_literals;

namespace {

std::string fixture(const std::string& name) { return FXTRACE_SOURCE_DIR "/tests/fixtures/files/" + name; }

std::string message_of(const std::string& path) {
  try {
    return not_traceable(identify_file(path)).what();
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kInput);
    CHECK(error.place() == path);
    return error.what();
  }
}

std::string little_endian(std::uint64_t value, int size) {
  std::string bytes;
  for (int i = 0; i < size; ++i) bytes += static_cast<char>((value >> (8 * i)) & 0xff);
  return bytes;
}

}  // namespace

TEST_CASE("file kind: files made by PyTorch", "[file_kind]") {
  struct Case {
    const char* file;
    FileKind kind;
    const char* what;
    const char* root;
  };
  const Case cases[] = {
      {"torchscript.pt", FileKind::kTorchScript, "a TorchScript archive", "torchscript"},
      {"torchscript_rezipped.pt", FileKind::kTorchScript, "a TorchScript archive", "torchscript"},
      {"lite.ptl", FileKind::kTorchScript, "lite interpreter", "lite"},
      {"flatbuffer.ptl", FileKind::kLiteInterpreter, "lite interpreter", ""},
      {"exported.pt2", FileKind::kExportedProgram, "an exported program", "exported"},
      {"state_dict.pt", FileKind::kTorchSave, "a state_dict saved with torch.save: it holds no graph",
       "state_dict"},
      {"module.pt", FileKind::kTorchSave, "a whole pickled module (__main__.Net) saved with torch.save",
       "module"},
      {"checkpoint.pt", FileKind::kTorchSave, "a checkpoint (a dict with keys 'epoch', 'model') saved",
       "checkpoint"},
      {"tensor.pt", FileKind::kTorchSave, "a tensor saved with torch.save", "tensor"},
      {"legacy_state_dict.pt", FileKind::kTorchSave, "a state_dict saved with torch.save (legacy format)",
       ""},
      {"legacy_module.pt", FileKind::kTorchSave, "a whole pickled module (package_net.Plain) saved", ""},
      {"package.pt", FileKind::kTorchPackage, "a torch.package archive", "package"},
      {"make.py", FileKind::kText, "source code", ""},
  };
  for (const auto& c : cases) {
    CAPTURE(c.file);
    const FileInfo info = identify_file(fixture(c.file));
    CHECK(std::string(to_string(info.kind)) == to_string(c.kind));
    CHECK_THAT(info.what, ContainsSubstring(c.what));
    CHECK(info.root == c.root);
    const bool traceable = c.kind == FileKind::kTorchScript || c.kind == FileKind::kExportedProgram;
    CHECK(is_traceable(info.kind) == traceable);
    CHECK(info.advice.empty() == traceable);
  }
  CHECK(identify_file(fixture("torchscript.pt")).producer_version == "3");
  CHECK(identify_file(fixture("exported.pt2")).producer_version.empty());
}

TEST_CASE("file kind: by the first bytes", "[file_kind]") {
  const Folder folder;
  struct Case {
    std::string bytes;
    FileKind kind;
    const char* message;
  };
  const Case cases[] = {
      {"", FileKind::kEmpty, "an empty file"},
      {"\x1f\x8b\x08"s, FileKind::kCompressed, "a gzip file"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n", FileKind::kPointer,
       "Git LFS pointer"},
      {"/annex/objects/SHA256E-s1--00.pt\n", FileKind::kPointer, "git-annex pointer"},
      {"<!DOCTYPE html>\n<html>", FileKind::kText, "an HTML page"},
      {"\n <HTML>", FileKind::kText, "an HTML page"},
      {"{\"a\": 1}", FileKind::kText, "JSON text"},
      {"{ \"format\": \"fxtrace.graph_collection\"", FileKind::kText, "a graph collection"},
      {"{\n \"format\": \"fxtrace.graph_collection\", \"x\": \"\x01\"", FileKind::kText,
       "a graph collection"},
      {"{\x01", FileKind::kUnknown, "a file of an unknown kind"},
      {"import torch\n", FileKind::kText, "source code"},
      {"hello", FileKind::kText, "this is text"},
      {"\x89HDF\r\n\x1a\n"s, FileKind::kOtherModel, "HDF5"},
      {"GGUF\x03\0\0\0"s, FileKind::kOtherModel, "GGUF"},
      {"\x1c\0\0\0TFL3"s, FileKind::kOtherModel, "TensorFlow Lite"},
      {"\x1c\0\0\0PTMF"s, FileKind::kLiteInterpreter, "flatbuffer"},
      {"\x1c\0\0\0ET12"s, FileKind::kOtherModel, "ExecuTorch"},
      {little_endian(2, 8) + "{}", FileKind::kSafetensors, "a safetensors file"},
      {little_endian(9, 8) + "{\"a\": {}}\0\0"s, FileKind::kSafetensors, "a safetensors file"},
      {std::string(257, 'x') + "ustar\0"s, FileKind::kTar, "a tar archive"},
      {"\x08\x0a\x12\x07pytorch\x1a\x03\x32.0:\x02\x0a\x00\x42\x02\x10\x11"s, FileKind::kOnnx,
       "an ONNX model"},
      {"\x80\x04}."s, FileKind::kPickle, "a Python pickle"},
      {"\x80\x02]."s, FileKind::kPickle, "a Python pickle of a list"},
      {"PK\x03\x04 cut off here", FileKind::kBrokenZip, "cut off"},
      {std::string("\x01\x02\x03\xff", 4), FileKind::kUnknown, "a file of an unknown kind"},
      {little_endian(1000, 8) + "{\"a\"", FileKind::kUnknown, "a file of an unknown kind"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.message);
    const std::string path = folder.file(c.bytes);
    CHECK(std::string(to_string(identify_file(path).kind)) == to_string(c.kind));
    CHECK_THAT(message_of(path), ContainsSubstring(c.message));
  }
}

TEST_CASE("file kind: zip archives", "[file_kind]") {
  const Folder folder;
  struct Case {
    std::vector<std::pair<std::string, std::string>> records;
    FileKind kind;
    const char* what;
  };
  const Case cases[] = {
      {{{"m/data.pkl", "\x80\x02}."}, {"m/constants.pkl", ""}},
       FileKind::kTorchScript,
       "a TorchScript archive"},
      {{{"README", "x"}, {"m/data.pkl", ""}, {"m/constants.pkl", ""}},
       FileKind::kTorchScript,
       "a TorchScript archive"},
      {{{"data.pkl", ""}, {"constants.pkl", ""}}, FileKind::kZip, "without its root folder"},
      {{{"a/m/data.pkl", ""}, {"a/m/constants.pkl", ""}}, FileKind::kZip, "in a folder of a folder"},
      {{{"m/data.pkl", ""}, {"m/constants.pkl", ""}, {"m/bytecode.pkl", ""}},
       FileKind::kLiteInterpreter,
       "lite"},
      {{{"serialized_exported_program.json", "{}"}, {"version", "5.1"}},
       FileKind::kExportedProgram,
       "before 2.8"},
      {{{"m/archive_format", "pt2"}, {"m/models/x.json", "{}"}},
       FileKind::kExportedProgram,
       "an exported program"},
      {{{"m/archive_format", "pt2"}, {"m/data/aotinductor/model/x.so", ""}},
       FileKind::kAotInductor,
       "AOTInductor"},
      {{{"m/archive_format", "pt2"}, {"m/extra/note.txt", ""}},
       FileKind::kZip,
       "a pt2 archive of PyTorch without an exported program"},
      {{{"m/.data/extern_modules", ""}, {"m/x.py", ""}}, FileKind::kTorchPackage, "torch.package"},
      {{{"m/data.pkl", "garbage"}}, FileKind::kTorchSave, "saved with torch.save"},
      {{{"a.npy", ""}}, FileKind::kOtherModel, "NumPy"},
      {{{"dir/model.pt", ""}}, FileKind::kZip, "with a model in it"},
      {{{"word/document.xml", ""}}, FileKind::kZip, "PyTorch did not write"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.what);
    const FileInfo info = identify_file(folder.zip(c.records));
    CHECK(std::string(to_string(info.kind)) == to_string(c.kind));
    CHECK_THAT(info.what, ContainsSubstring(c.what));
  }
}

TEST_CASE("file kind: what cannot be read", "[file_kind]") {
  const Folder folder;
  CHECK_THAT(message_of((folder.path() / "missing").string()), ContainsSubstring("no such file"));
  CHECK_THAT(message_of(folder.path().string()), ContainsSubstring("a directory"));
  const std::string pipe = (folder.path() / "pipe").string();
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_THAT(message_of(pipe), ContainsSubstring("not a regular file"));
  folder.file("", "data.pkl");
  folder.file("", "constants.pkl");
  CHECK_THAT(message_of(folder.path().string()), ContainsSubstring("unpacked"));
  if (::geteuid() != 0) {
    const std::string secret = folder.file("x", "secret");
    REQUIRE(::chmod(secret.c_str(), 0) == 0);
    CHECK_THAT(message_of(secret), ContainsSubstring("permission denied"));
  }
}

TEST_CASE("file kind: hostile zip archives are refused quickly", "[file_kind]") {
  const Folder folder;
  const auto start = std::chrono::steady_clock::now();
  const auto entry = [](const std::string& name) {
    return "PK\x01\x02"s + std::string(24, '\0') + little_endian(name.size(), 2) + std::string(16, '\0') +
           name;
  };
  const auto with_end = [](const std::string& directory, std::uint64_t count) {
    return "PK\x03\x04"s + directory + "PK\x05\x06"s + std::string(4, '\0') + little_endian(count, 2) +
           little_endian(count, 2) + little_endian(directory.size(), 4) + little_endian(4, 4) +
           little_endian(0, 2);
  };
  std::string many;
  for (int i = 0; i < 300'000; ++i) many += entry(std::to_string(i));
  CHECK_THAT(message_of(folder.file(with_end(many, 65'535))), ContainsSubstring("more records than"));
  CHECK_THAT(message_of(folder.file(with_end(many.substr(0, many.size() / 5), 60'000))),
             ContainsSubstring("different files"));
  CHECK_THAT(message_of(folder.file(with_end(entry(std::string(60'000, 'n')), 1))),
             ContainsSubstring("60000 bytes"));
  CHECK_THAT(
      message_of(folder.file("PK\x03\x04" + "PK\x05\x06"s + std::string(6, '\0') + little_endian(1, 2) +
                             little_endian(1'000'000, 4) + little_endian(3'000'000'000, 4) + "\0\0"s)),
      ContainsSubstring("damaged"));
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
}

TEST_CASE("zip archive: records", "[file_kind]") {
  const Folder folder;
  const ZipArchive zip(folder.zip({{"m/a", std::string(100'000, 'a')}, {"m/b", "bytes"}}));
  REQUIRE(zip.entries().size() == 2);
  CHECK(zip.entries()[0].size == 100'000);
  CHECK(zip.contains("m/b"));
  CHECK_FALSE(zip.contains("m/c"));
  CHECK(zip.read("m/b", 100) == "bytes");
  CHECK(zip.read("m/a", 10) == "aaaaaaaaaa");
  CHECK_THROWS_AS(zip.read("m/c", 1), Error);
}

TEST_CASE("zip archive: what readers differ in is refused", "[file_kind]") {
  const Folder folder;
  const auto error_of = [&](const std::string& bytes) -> std::string {
    try {
      const ZipArchive zip(folder.file(bytes));
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kInput);
      CHECK_THAT(error.what(), ContainsSubstring("readers find different files: "));
      CHECK(error.hints().size() == 1);
      return error.what();
    }
    return "";
  };
  const auto named = [&](const std::string& name) {
    return fuzz::stored_zip({{"m/a", "bytes"}, {name, "others"}});
  };
  CHECK(error_of(named("m/b")).empty());
  for (const char* name : {"m/a", "M/A", "/m/a", "m//a", "./m/a", "m\\a", "m/a/"}) {
    CAPTURE(name);
    CHECK_FALSE(error_of(named(name)).empty());
  }
  const std::string sound = named("m/b");
  constexpr std::size_t kEnd = 22;
  const std::string end = sound.substr(sound.size() - kEnd);
  CHECK_THAT(error_of(sound + "x"), ContainsSubstring("1 bytes follow the end record"));
  CHECK_THAT(error_of(sound + end), ContainsSubstring("does not end where the end record begins"));
  CHECK_THAT(error_of("x" + sound), ContainsSubstring("does not end where the end record begins"));
  // Every byte of the headers, the directory and the end that has a meaning is checked against the others.
  std::size_t accepted = 0;
  for (std::size_t at = 0; at < sound.size(); ++at) {
    if (at >= sound.size() - kEnd && at < sound.size() - kEnd + 4)
      continue;  // it is no longer an archive then
    std::string other = sound;
    other[at] = static_cast<char>(other[at] ^ 1);
    if (error_of(other).empty()) ++accepted;
  }
  // The content, versions, times, attributes, and flags without a meaning here may change.
  CHECK(accepted < 80);
}

TEST_CASE("zip archive: the end record is found before a comment of any length", "[file_kind]") {
  const Folder folder;
  const std::string plain = ModelFile(folder.zip({{"m/a", "bytes"}})).read_whole();
  constexpr std::size_t kEnd = 22;
  const std::string records = plain.substr(0, plain.size() - kEnd);
  const auto directory = records.rfind("PK\x01\x02");
  REQUIRE(directory != std::string::npos);
  // Only the record of zip64 says where the directory is.
  const std::string zip64 = "PK\x06\x06"s + little_endian(44, 8) + little_endian(45, 2) +
                            little_endian(45, 2) + little_endian(0, 8) + little_endian(1, 8) +
                            little_endian(1, 8) + little_endian(records.size() - directory, 8) +
                            little_endian(directory, 8);
  const std::string locator =
      "PK\x06\x07"s + little_endian(0, 4) + little_endian(records.size(), 8) + little_endian(1, 4);
  for (const std::size_t comment : {0, 1, 19, 20, 21, 42, 65'535}) {
    CAPTURE(comment);
    const std::string end = "PK\x05\x06"s + std::string(4, '\0') + std::string(12, '\xff') +
                            little_endian(comment, 2) + std::string(comment, 'c');
    const ZipArchive zip(folder.file(records + zip64 + locator + end));
    CHECK(zip.read("m/a", 100) == "bytes");
  }
}

TEST_CASE("zip archive: no hole of a skeleton is read", "[file_kind]") {
  const Folder folder;
  const std::string mark = "fxtrace: not fetched: s3://store/m.pt2\n"s;
  const auto archive = [&](const std::string& content) {
    return ZipArchive(folder.file(fuzz::stored_zip({{"m/version", "3"}, {"m/data/0", content}})));
  };
  const auto message = [](const auto& read) {
    try {
      read();
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kInput);
      return std::string(error.what()) + " " + (error.hints().empty() ? "" : error.hints().front());
    }
    return ""s;
  };
  struct Case {
    std::string content, hint;
  };
  const Case cases[] = {
      {mark + std::string(5'000, '\0'), "-o FILE s3://store/m.pt2"},
      {mark.substr(0, 4), "-o FILE URL"},
      {mark.substr(0, 8), "-o FILE URL"},
      {mark.substr(0, 20), "-o FILE URL"},
      {"fxtrace: not fetched: https://h/$(rm -r x)\n" + std::string(100, '\0'), "-o FILE URL"},
  };
  for (const Case& hole : cases) {
    CAPTURE(hole.content.size());
    const ZipArchive zip = archive(hole.content);
    const ZipArchive::Entry& entry = *zip.find_exactly("m/data/0");
    CHECK(message([&] { (void)zip.read("m/data/0", 1); }).ends_with(hole.hint));
    CHECK(message([&] { (void)zip.find_stored("m/data/0"); }).ends_with(hole.hint));
    CHECK(message([&] { (void)zip.is_intact(entry); }).ends_with(hole.hint));
    CHECK(message([&] { (void)bytes_of_record(zip, "m/data/0"); }).ends_with(hole.hint));
    CHECK(message([&] { zip.check_is_whole(); }).ends_with(hole.hint));
    CHECK(zip.read("m/version", 10) == "3");
    CHECK(zip.size("m/data/0") == hole.content.size());
  }
  for (const std::string& content : {""s, "fxt"s, "fxtrace;"s, "fxtrace: not fetch!!"s}) {
    const ZipArchive zip = archive(content);
    CHECK(zip.read("m/data/0", 100) == content);
    CHECK_NOTHROW(zip.check_is_whole());
  }
}

TEST_CASE("pickle scan: survives whatever it reads", "[file_kind]") {
  const std::string bytes =
      "\x80\x02}q\x01(X\x01\0\0\0ac__main__\nNet\n)\x81}(X\x08\0\0\0_modulesNubs\x85u.0bstR\x93Q"s;
  for (std::size_t start = 0; start < bytes.size(); ++start) {
    for (std::size_t size = 0; start + size <= bytes.size(); ++size) {
      const PickleScan scan = scan_pickle(bytes.substr(start, size));
      CHECK(scan.end <= size);
      CHECK_FALSE(describe(scan).empty());
    }
  }
  CHECK(scan_pickle(std::string(1'000'000, '(')).valid);
  CHECK_FALSE(scan_pickle("\xff").valid);
}
