#include "archive/file_kind.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "archive/model_file.h"
#include "archive/pickle_machine.h"
#include "archive/zip_archive.h"

namespace fxtrace::internal {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

constexpr std::size_t kHeadSize = 65'536;
constexpr std::size_t kPickleSize = 4'000'000;  // bytes read of a pickle; the beginning is enough
constexpr std::size_t kMaxCandidates = 100;     // folders in a zip that might be an archive's root

const char kSaveModel[] = "use torch.export.save or torch.jit.save";

bool has_at(std::string_view bytes, std::size_t at, std::string_view magic) {
  return bytes.size() >= at + magic.size() && bytes.substr(at, magic.size()) == magic;
}

FileInfo make(FileKind kind, std::string what, std::string advice) {
  FileInfo info;
  info.kind = kind;
  info.what = std::move(what);
  info.advice = std::move(advice);
  return info;
}

// Returns the text of a record such as `version`, if it is short and printable; else nothing.
std::string short_text(const ZipArchive& zip, const std::string& record) {
  if (!zip.contains(record)) return {};
  std::string text = zip.read(record, 64);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.pop_back();
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
  return plain ? text : std::string();
}

FileInfo from_saved_object(const PickleScan& scan, const std::string& how) {
  const std::string what = describe(scan);
  const bool has_code =
      what.find("module") != std::string::npos || what.find("GraphModule") != std::string::npos;
  if (has_code) {
    return make(FileKind::kTorchSave, what + " " + how + ": it names Python classes but holds no graph",
                "load it in Python, then "s + kSaveModel);
  }
  return make(FileKind::kTorchSave, what + " " + how + ": it holds no graph",
              "load it into its model in Python, then "s + kSaveModel);
}

// --- zip archives ---

// Returns the folders that may have PyTorch's records, as their names begin, in order: "m/", and "" if some
// records are in no folder.  PyTorch itself takes the first record's folder, and none for old programs.
std::vector<std::string> candidate_folders(const ZipArchive& zip) {
  std::vector<std::string> folders;
  const auto has_none = [](const ZipArchive::Entry& entry) {
    return entry.name.find('/') == std::string::npos;
  };
  if (std::ranges::any_of(zip.entries(), has_none)) folders.emplace_back();
  for (const auto& entry : zip.entries()) {
    std::string folder = entry.name.substr(0, entry.name.find('/') + 1);
    if (!folders.empty() && folders.back() == folder) continue;
    if (std::find(folders.begin(), folders.end(), folder) == folders.end())
      folders.push_back(std::move(folder));
    if (folders.size() == kMaxCandidates) break;
  }
  return folders;
}

bool has_folder(const ZipArchive& zip, const std::string& folder, std::string_view suffix = {}) {
  return std::any_of(zip.entries().begin(), zip.entries().end(), [&](const ZipArchive::Entry& entry) {
    return entry.name.size() > folder.size() && entry.name.starts_with(folder) &&
           entry.name.ends_with(suffix);
  });
}

std::string producer_version(const ZipArchive& zip, const std::string& prefix) {
  for (const char* record : {"version", ".data/version", "archive_version"}) {
    std::string version = short_text(zip, prefix + record);
    if (!version.empty()) return version;
  }
  return {};
}

// Returns the kind of the archive whose records are in `prefix`, one of candidate_folders(); nothing if they
// are not PyTorch's.
std::optional<FileInfo> identify_in_folder(const ZipArchive& zip, const std::string& prefix) {
  const std::string root = prefix.substr(0, prefix.find('/'));
  const auto has = [&](const char* record) { return zip.contains(prefix + record); };
  const bool is_old_program = has("serialized_exported_program.json");
  const bool is_program = has_folder(zip, prefix + "models/", ".json") && has("archive_format") &&
                          short_text(zip, prefix + "archive_format") == "pt2";
  const bool is_script = has("data.pkl") && has("constants.pkl");
  if (int{is_old_program} + int{is_program} + int{is_script} > 1)
    throw misleading_archive("it is a model in two layouts, and PyTorch's loaders read different ones");
  FileInfo info;
  if (is_old_program) {
    info = make(FileKind::kExportedProgram, "an exported program in the layout of PyTorch before 2.8", "");
  } else if (is_program) {
    info = make(FileKind::kExportedProgram, "an exported program (torch.export.save)", "");
  } else if (has_folder(zip, prefix + "data/aotinductor/")) {
    info = make(
        FileKind::kAotInductor, "an AOTInductor package: compiled machine code, which holds no graph",
        "`fxtrace inspect` shows what is in it; to trace the model, use torch.export.save on the exported "
        "program that was compiled");
  } else if (has("archive_format") && short_text(zip, prefix + "archive_format") == "pt2") {
    info = make(FileKind::kZip, "a pt2 archive of PyTorch without an exported program", kSaveModel);
  } else if (has(".data/extern_modules")) {
    info =
        make(FileKind::kTorchPackage, "a torch.package archive: Python code and pickles, which hold no graph",
             "import the model with torch.package.PackageImporter, then "s + kSaveModel);
  } else if (has("bytecode.pkl") && !has_folder(zip, prefix + "code/", ".py")) {
    info = make(
        FileKind::kLiteInterpreter,
        "a TorchScript model for the lite interpreter (mobile) that holds bytecode only",
        "save the scripted module with torch.jit.save, or with _save_for_lite_interpreter, which keep its code");
  } else if (is_script) {
    info = make(FileKind::kTorchScript,
                has("bytecode.pkl") ? "a TorchScript archive for the lite interpreter (mobile)"
                                    : "a TorchScript archive",
                "");
    if (prefix.empty()) {
      info.kind = FileKind::kZip;
      info.what = "a TorchScript archive without its root folder";
      info.advice = "zip it again with everything inside of one folder";
    }
  } else if (has("model.json") && has_folder(zip, prefix + "code/")) {
    info = make(FileKind::kOldTorchScript,
                "a TorchScript archive of PyTorch 1.0 to 1.2, which PyTorch 2.13 does not open either",
                "load it with PyTorch 1.3 to 1.8 and save it again with torch.jit.save");
  } else if (has("data.pkl")) {
    info =
        from_saved_object(scan_pickle(zip.read(prefix + "data.pkl", kPickleSize)), "saved with torch.save");
  } else {
    return std::nullopt;
  }
  info.root = root;
  // The JSON of an exported program names its producer; the archive's version is only that of the packing.
  if (info.kind != FileKind::kExportedProgram) info.producer_version = producer_version(zip, prefix);
  return info;
}

// Returns whether PyTorch finds a graph or code in the file.
bool holds_model(const FileInfo& info) {
  return is_traceable(info.kind) || info.kind == FileKind::kOldTorchScript ||
         info.kind == FileKind::kLiteInterpreter || info.kind == FileKind::kAotInductor;
}

FileInfo identify_records(const ZipArchive& zip) {
  if (zip.entries().empty()) return make(FileKind::kZip, "an empty zip archive", "check how it was made");
  std::optional<FileInfo> found;
  for (const std::string& folder : candidate_folders(zip)) {
    auto info = identify_in_folder(zip, folder);
    if (!info) continue;
    if (holds_model(*info) && folder == "/")
      throw misleading_archive("its model is in a folder with an empty name");
    if (found && holds_model(*found) && holds_model(*info)) {
      throw misleading_archive("it has two models, in the folders '" + found->root + "' and '" + info->root +
                               "', of which PyTorch takes the one in the folder of the first record");
    }
    if (!found || (!holds_model(*found) && holds_model(*info))) found = std::move(info);
  }
  if (found) return *found;

  const auto any_ends_with = [&](std::string_view suffix) {
    return std::any_of(zip.entries().begin(), zip.entries().end(),
                       [suffix](const auto& entry) { return entry.name.ends_with(suffix); });
  };
  if (any_ends_with("/constants.pkl")) {
    return make(FileKind::kZip, "a zip archive with a TorchScript archive in a folder of a folder",
                "unzip it and zip the inner folder");
  }
  if (any_ends_with(".npy")) {
    return make(FileKind::kOtherModel, "a NumPy archive (npz): arrays, which hold no graph",
                "start from the model in Python: "s + kSaveModel);
  }
  if (any_ends_with("model.weights.h5")) {
    return make(FileKind::kOtherModel, "a Keras model", "fxtrace traces PyTorch models: "s + kSaveModel);
  }
  if (any_ends_with(".pt") || any_ends_with(".pth") || any_ends_with(".pt2") || any_ends_with(".ptl")) {
    return make(FileKind::kZip, "a zip archive with a model in it", "unzip it and trace the model");
  }
  return make(FileKind::kZip, "a zip archive that PyTorch did not write", kSaveModel);
}

FileInfo identify_zip(const ModelFile& file) {
  auto zip = std::make_shared<const ZipArchive>(file);
  FileInfo info = identify_records(*zip);
  info.zip = std::move(zip);
  return info;
}

// --- other binary formats ---

bool looks_like_text(std::string_view head) {
  return std::none_of(head.begin(), head.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte == 0x7f || (byte < 0x20 && byte != '\n' && byte != '\r' && byte != '\t' && byte != '\f');
  });
}

struct ProtobufField {
  std::uint64_t number = 0, wire_type = 0, value = 0;  // value: the varint, or the length
  std::size_t data = 0;                                // where a length-delimited field's bytes start
};

// Returns the fields of a protobuf message as far as `head` goes; empty when the bytes are not a message.
std::vector<ProtobufField> protobuf_fields(std::string_view head, std::uint64_t file_size) {
  std::vector<ProtobufField> fields;
  std::size_t at = 0;
  const auto varint = [&]() -> std::optional<std::uint64_t> {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && at < head.size(); shift += 7) {
      const auto byte = static_cast<unsigned char>(head[at++]);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    return std::nullopt;
  };
  while (at < head.size() && fields.size() < 64) {
    const auto key = varint();
    if (!key) break;
    ProtobufField field{*key >> 3, *key & 7, 0, 0};
    if (field.number == 0) return {};
    if (field.wire_type == 0) {
      const auto value = varint();
      if (!value) break;
      field.value = *value;
    } else if (field.wire_type == 2) {
      const auto length = varint();
      if (!length) break;
      if (*length > file_size) return {};
      field.value = *length;
      field.data = at;
    } else {
      return {};
    }
    fields.push_back(field);
    if (field.wire_type == 2) {
      if (field.value > head.size() - at) break;
      at += static_cast<std::size_t>(field.value);
    }
  }
  return fields;
}

std::optional<FileInfo> identify_protobuf(std::string_view head, std::uint64_t file_size) {
  const auto fields = protobuf_fields(head, file_size);
  if (fields.empty() || fields.front().number != 1 || fields.front().wire_type != 0) return std::nullopt;
  // ONNX's ModelProto has ir_version first, then strings, the graph and other fields.
  bool graph = false;
  for (const auto& field : fields) {
    const bool number = field.number == 1 || field.number == 5;
    const bool other = (field.number >= 2 && field.number <= 8) || field.number == 14 || field.number == 20 ||
                       field.number == 25 || field.number == 26;
    if (!(number || other) || number != (field.wire_type == 0)) return std::nullopt;
    if (field.number >= 2 && field.number <= 6 && field.number != 5) {
      const std::string_view text =
          head.substr(field.data, static_cast<std::size_t>(std::min<std::uint64_t>(field.value, 64)));
      if (field.number != 6 && (field.value > 1'000 || !looks_like_text(text))) return std::nullopt;
    }
    graph = graph || field.number == 7 || field.number == 8;
  }
  if (!graph || fields.front().value == 0 || fields.front().value > 100) return std::nullopt;
  return make(FileKind::kOnnx, "an ONNX model", "export the PyTorch model it came from: "s + kSaveModel);
}

std::optional<FileInfo> identify_flatbuffer(std::string_view head) {
  if (has_at(head, 4, "PTMF")) {
    return make(FileKind::kLiteInterpreter,
                "a TorchScript model for the lite interpreter (a mobile flatbuffer)",
                "save the scripted module with torch.jit.save instead of as a flatbuffer");
  }
  if (has_at(head, 4, "TFL3")) {
    return make(FileKind::kOtherModel, "a TensorFlow Lite model",
                "fxtrace traces PyTorch models: "s + kSaveModel);
  }
  if (head.size() >= 8 && head[4] == 'E' && head[5] == 'T' &&
      std::isdigit(static_cast<unsigned char>(head[6])) != 0) {
    return make(FileKind::kOtherModel, "an ExecuTorch program",
                "start from the model in Python: "s + kSaveModel);
  }
  return std::nullopt;
}

std::optional<FileInfo> identify_safetensors(std::string_view head, std::uint64_t file_size) {
  if (!has_at(head, 8, "{") || head.size() < 10 || (head[9] != '"' && head[9] != '}' && head[9] != ' '))
    return std::nullopt;
  const std::uint64_t header = little_endian(head, 0, 8);
  if (header < 2 || header > file_size - 8) return std::nullopt;
  return make(FileKind::kSafetensors, "a safetensors file: tensors, which hold no graph",
              "load it into its model in Python, then "s + kSaveModel);
}

constexpr std::string_view kLegacyMagic = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"sv;

std::optional<FileInfo> identify_pickle(const ModelFile& file, std::string_view head) {
  if (head.size() < 2 || head[0] != '\x80' || head[1] < 2 || head[1] > 5) return std::nullopt;
  std::string bytes(head);
  if (head.size() == kHeadSize) {
    bytes = file.read_at(0, kPickleSize);
  }
  // Protocol 4 puts a frame between the version and the magic number.
  const std::size_t magic = head.substr(0, 32).find(kLegacyMagic);
  if (magic == 2 || magic == 11) {
    // Three pickles come before the object: magic number, protocol version, system.
    std::size_t at = 0;
    PickleScan scan;
    for (int i = 0; i < 4; ++i) {
      scan = scan_pickle(bytes, at);
      at = scan.end;
    }
    return from_saved_object(scan, "saved with torch.save (legacy format)");
  }
  const PickleScan scan = scan_pickle(bytes);
  if (!scan.valid) return std::nullopt;
  const std::string what = describe(scan);
  return make(FileKind::kPickle,
              "a Python pickle" + (what == "a pickled object" ? ""s : " of " + what) + ": it holds no graph",
              "load it in Python, then "s + kSaveModel);
}

struct Magic {
  std::size_t at;
  std::string_view bytes;
  FileKind kind;
  const char* what;
  const char* advice;  // null for the advice to start from the model in Python
};

// Formats that are recognised by a few bytes.
constexpr Magic kMagics[] = {
    {0, "\x1f\x8b"sv, FileKind::kCompressed, "a gzip file", "decompress it first (gunzip, or tar xzf)"},
    {0, "BZh"sv, FileKind::kCompressed, "a bzip2 file", "decompress it first (bunzip2)"},
    {0,
     "\xfd"
     "7zXZ\0"sv,
     FileKind::kCompressed, "an xz file", "decompress it first (unxz)"},
    {0, "\x28\xb5\x2f\xfd"sv, FileKind::kCompressed, "a zstd file", "decompress it first (unzstd)"},
    {0, "7z\xbc\xaf\x27\x1c"sv, FileKind::kCompressed, "a 7z archive", "unpack it first"},
    {0, "Rar!\x1a\x07"sv, FileKind::kCompressed, "a RAR archive", "unpack it first"},
    {257, "ustar"sv, FileKind::kTar, "a tar archive", "unpack it and trace the model inside"},
    {0, "GGUF"sv, FileKind::kOtherModel, "a GGUF model (llama.cpp): tensors, which hold no graph", nullptr},
    {0, "\x89HDF\r\n\x1a\n"sv, FileKind::kOtherModel, "an HDF5 file (Keras, perhaps)", nullptr},
    {0, "\x93NUMPY"sv, FileKind::kOtherModel, "a NumPy array", nullptr},
    {0,
     "\x7f"
     "ELF"sv,
     FileKind::kOtherModel, "a program or shared library (ELF): machine code, which holds no graph", nullptr},
    {0, "version https://git-lfs.github.com/spec/"sv, FileKind::kPointer,
     "a Git LFS pointer to a model that was not downloaded", "fetch it with `git lfs pull`"},
    {0, "/annex/objects/"sv, FileKind::kPointer, "a git-annex pointer to a model that was not downloaded",
     "fetch it with `git annex get`"},
};

bool starts_with_ignoring_case(std::string_view text, std::string_view start) {
  return text.size() >= start.size() &&
         std::equal(start.begin(), start.end(), text.begin(), [](char a, char b) {
           return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
         });
}

FileInfo identify_text(std::string_view head) {
  std::string_view text = head;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
  if (starts_with_ignoring_case(text, "<!doctype html") || starts_with_ignoring_case(text, "<html")) {
    return make(FileKind::kText, "an HTML page, perhaps an error or login page saved instead of the model",
                "download the model again");
  }
  if (text.starts_with("<?xml")) {
    return make(FileKind::kText, "an XML file (an OpenVINO model, perhaps)",
                "fxtrace traces PyTorch models: "s + kSaveModel);
  }
  if (text.starts_with('{') || text.starts_with('[')) {
    const bool ours = text.substr(0, 200).find("fxtrace.graph_collection") != std::string_view::npos;
    if (ours) {
      return make(FileKind::kText, "a graph collection written by fxtrace",
                  "trace the model it was made from, or write it in another format: fxtrace render FILE");
    }
    return make(FileKind::kText, "JSON text", "trace the model itself: "s + kSaveModel);
  }
  // A first line with "# " may be a comment or a Markdown heading; then only Python's statements decide.
  const bool comment = text.starts_with("# ");
  for (const char* word : {"import ", "from ", "def ", "class ", "#!", R"(""")", "op_version_set"}) {
    if (text.starts_with(word) || (comment && text.find("\n"s + word) != std::string_view::npos)) {
      return make(FileKind::kText, "source code", "run it in Python and save the model: "s + kSaveModel);
    }
  }
  return make(FileKind::kText, "text", "trace the model itself: "s + kSaveModel);
}

FileInfo identify_bytes(const ModelFile& file, std::string_view head) {
  if (head.starts_with("PK\x03\x04") || head.starts_with("PK\x05\x06") || head.starts_with("PK\x06\x06")) {
    if (!ZipArchive::has_end_record(file)) {
      return make(FileKind::kBrokenZip, "the beginning of a zip archive: the file was cut off",
                  "copy or download it again");
    }
    const std::size_t saved = find_saved_archives(file).size();
    return saved > 1 ? make(FileKind::kTorchSave,
                            "a shard of a distributed checkpoint (" + std::to_string(saved) +
                                " files of torch.save, one behind the other): it holds no graph",
                            "load the checkpoint into its model in Python, then "s + kSaveModel)
                     : identify_zip(file);
  }
  for (const Magic& magic : kMagics) {
    if (has_at(head, magic.at, magic.bytes)) {
      return make(magic.kind, magic.what,
                  magic.advice != nullptr ? magic.advice : "start from the model in Python: "s + kSaveModel);
    }
  }
  if (auto info = identify_flatbuffer(head)) return *info;
  if (auto info = identify_safetensors(head, file.size())) return *info;
  if (auto info = identify_pickle(file, head)) return *info;
  if (auto info = identify_protobuf(head, file.size())) return *info;
  if (looks_like_text(head.substr(0, 4'096))) return identify_text(head);
  // A zip archive may have other bytes before its first record.
  if (ZipArchive::has_end_record(file)) return identify_zip(file);
  // JSON with characters that it must not have: the reader tells where.
  const std::size_t first = head.starts_with('{') ? head.find_first_not_of(" \t\r\n", 1) : head.npos;
  if (first != head.npos && head[first] == '"') return identify_text(head);
  return make(FileKind::kUnknown, "a file of an unknown kind", kSaveModel);
}

}  // namespace

const char* to_string(FileKind kind) {
  switch (kind) {
    case FileKind::kTorchScript:
      return "torchscript";
    case FileKind::kOldTorchScript:
      return "old_torchscript";
    case FileKind::kLiteInterpreter:
      return "lite_interpreter";
    case FileKind::kExportedProgram:
      return "exported_program";
    case FileKind::kAotInductor:
      return "aot_inductor";
    case FileKind::kTorchSave:
      return "torch_save";
    case FileKind::kTorchPackage:
      return "torch_package";
    case FileKind::kPickle:
      return "pickle";
    case FileKind::kSafetensors:
      return "safetensors";
    case FileKind::kTar:
      return "tar";
    case FileKind::kOnnx:
      return "onnx";
    case FileKind::kOtherModel:
      return "other_model";
    case FileKind::kCompressed:
      return "compressed";
    case FileKind::kZip:
      return "zip";
    case FileKind::kBrokenZip:
      return "broken_zip";
    case FileKind::kPointer:
      return "pointer";
    case FileKind::kText:
      return "text";
    case FileKind::kEmpty:
      return "empty";
    case FileKind::kUnknown:
      return "unknown";
  }
  return "unknown";
}

bool is_traceable(FileKind kind) {
  return kind == FileKind::kTorchScript || kind == FileKind::kExportedProgram;
}

FileInfo identify_file(const ModelFile& file) {
  try {
    const std::string head = file.read_at(0, kHeadSize);
    FileInfo info = head.empty() ? make(FileKind::kEmpty, "an empty file", "copy or download it again")
                                 : identify_bytes(file, head);
    info.size = file.size();
    return info;
  } catch (Error& error) {
    error.at(file.path());
    throw;
  }
}

Error not_traceable(const FileInfo& info) {
  return input_error("this is " + info.what + (info.advice.empty() ? "" : "; " + info.advice));
}

}  // namespace fxtrace::internal
