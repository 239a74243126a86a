#include "archive/security_scan.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "archive/compiled_model.h"
#include "archive/pickle_machine.h"
#include "archive/zip_archive.h"
#include "support/error.h"
#include "support/identifier.h"
#include "support/json_document.h"
#include "support/words.h"

namespace fxtrace {
namespace {

constexpr std::size_t kHead = 1'024;                 // of a record: tells machine code
constexpr std::size_t kMaxPickle = 256'000'000;      // bytes of a pickle
constexpr std::size_t kMaxSearched = 1'000'000'000;  // of code or JSON that is searched for names
constexpr std::size_t kMaxChecked = 256'000'000;  // of a compressed record that is unpacked to see its size
constexpr std::size_t kMaxName = 200;             // of what a message repeats
constexpr std::size_t kLegacyPickles = 5;         // of torch.save's legacy format, a number in front
constexpr std::size_t kMaxFindings = 10'000;
constexpr int kMaxArchives = 3;                            // of archives in archives
constexpr std::size_t kMaxNested = 1'000;                  // of those, in all
constexpr std::uint64_t kMuchLarger = 100;                 // times what is stored
constexpr std::uint64_t kLarge = std::uint64_t{10} << 20;  // bytes that may grow from little
constexpr std::uint64_t kHeaderSize = 30;

bool starts_as_pickle(std::string_view bytes) {
  return bytes.size() > 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5;
}
bool starts_as_zip(std::string_view bytes) { return bytes.starts_with("PK\x03\x04"); }

// By its name torch unpickles it.
bool is_pickle_name(std::string_view name) {
  const std::string_view last = name.substr(name.rfind('/') + 1);
  constexpr std::array<std::string_view, 5> kSuffixes = {".pkl", ".pickle", ".pt", ".pth", ".debug_pkl"};
  return std::ranges::any_of(kSuffixes, [&](std::string_view suffix) { return last.ends_with(suffix); }) ||
         last.starts_with("opaque_obj_") || last.starts_with("custom_obj_");
}

// The dotted name that begins at `at`.
std::string_view dotted_name(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && (is_word(text[end]) || text[end] == '.')) ++end;
  std::string_view name = text.substr(at, std::min(end - at, kMaxName));
  while (name.ends_with('.')) name.remove_suffix(1);
  return name;
}

class Scan {
 public:
  // `runs_python`: what reads the file imports its Python code.
  explicit Scan(bool runs_python) : runs_python_(runs_python) {}

  void zip(const ZipArchive& archive, std::uint64_t size, const std::string& prefix, int nesting) {
    names(archive, prefix);
    places(archive, size, prefix);
    declared_pickles(archive, prefix);
    for (const ZipArchive::Entry& entry : archive.entries()) {
      if (findings_.size() >= kMaxFindings) return;
      const std::string record = prefix + entry.name;
      try {
        content(archive, entry, record, nesting);
      } catch (const Error& error) {
        add(SecurityKind::kSize, record, "", error.what());
      }
    }
  }

  // The pickle at the beginning of `bytes`; behind a number torch.load reads those of its legacy format.
  // `is_certain`: there is one, whatever the bytes look like.
  void pickles(std::string_view bytes, const std::string& record, bool is_certain) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < kLegacyPickles && at < bytes.size(); ++i) {
      const auto [is_number, end] = pickle(bytes, at, record, is_certain);
      if (!end || (i == 0 && !is_number)) return;
      at = *end;
    }
  }

  void add(SecurityKind kind, const std::string& record, std::string subject, std::string message) {
    if (findings_.size() >= kMaxFindings) return;
    findings_.push_back({kind, record, std::move(subject), std::move(message)});
  }

  std::vector<SecurityFinding> take() { return std::move(findings_); }

 private:
  void names(const ZipArchive& archive, const std::string& prefix) {
    std::unordered_set<std::string_view> seen;
    for (const ZipArchive::Entry& entry : archive.entries()) {
      const std::string record = prefix + entry.name;
      if (!seen.insert(entry.name).second)
        add(SecurityKind::kDuplicate, record, "",
            "two records have this name: readers differ in which they take");
      if (entry.is_link)
        add(SecurityKind::kPath, record, "", "a symbolic link, which may lead anywhere when it is unpacked");
      if (const char* problem = problem_of_path(entry.name)) add(SecurityKind::kPath, record, "", problem);
    }
  }

  static const char* problem_of_path(std::string_view name) {
    const bool has_drive = name.size() > 1 && name[1] == ':' && is_word(name[0]);
    if (name.starts_with('/') || name.starts_with('\\') || has_drive)
      return "an absolute path: unpacked, it leaves its folder";
    std::string text(name);
    std::ranges::replace(text, '\\', '/');
    text = "/" + text + "/";
    if (text.find("/../") != std::string::npos) return "a path through '..': unpacked, it leaves its folder";
    return nullptr;
  }

  // Weights and constants of an exported program that torch.export.load unpickles, whatever their names are.
  void declared_pickles(const ZipArchive& archive, const std::string& prefix) {
    for (const ZipArchive::Entry& entry : archive.entries()) {
      const bool is_config =
          entry.name.ends_with("_config.json") && entry.name.find("data/") != std::string::npos;
      if (!is_config) continue;
      const std::string record = prefix + entry.name;
      const std::string folder = record.substr(0, record.rfind('/') + 1);
      try {
        const JsonDocument document(JsonText{archive.read(entry, kMaxPickle)}, entry.name);
        const auto tensors = document.root().find("config");
        if (!tensors) continue;
        for (const JsonValue tensor : tensors->fields()) {
          const auto is_pickled = tensor.find("use_pickle");
          const auto path = tensor.find("path_name");
          if (is_pickled && is_pickled->boolean() && path)
            pickles_.insert(folder + std::string(path->string()));
        }
      } catch (const Error& error) {
        add(SecurityKind::kSize, record, "", error.what());
      }
    }
  }

  // Where records lie in an archive of `size` bytes.
  void places(const ZipArchive& archive, std::uint64_t size, const std::string& prefix) {
    std::vector<const ZipArchive::Entry*> entries;
    for (const ZipArchive::Entry& entry : archive.entries()) {
      const std::string record = prefix + entry.name;
      const auto name = archive.find_name_in_header(entry);
      if (!name) {
        add(SecurityKind::kSize, record, "", "the archive has no header of this record where it says");
        continue;
      }
      if (*name != entry.name) {
        add(SecurityKind::kSize, record, name->substr(0, kMaxName),
            "its own header calls it '" + name->substr(0, kMaxName) + "'");
      }
      entries.push_back(&entry);
    }
    std::ranges::sort(entries, {},
                      [](const ZipArchive::Entry* entry) { return std::pair(*entry->header, entry); });
    if (!entries.empty() && *entries.front()->header > 0) {
      add(SecurityKind::kSize, prefix, "",
          std::to_string(*entries.front()->header) +
              " bytes stand before the first record: a reader that looks there sees another file");
    }
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const std::uint64_t start = *entries[i]->header + kHeaderSize + entries[i]->name.size();
      const std::uint64_t next = i + 1 < entries.size() ? *entries[i + 1]->header : size;
      if (start <= next && entries[i]->compressed_size <= next - start) continue;
      add(SecurityKind::kSize, prefix + entries[i]->name, "",
          i + 1 < entries.size()
              ? "it overlaps the next record, '" + entries[i + 1]->name.substr(0, kMaxName) + "'"
              : "it reaches beyond the end of the archive");
    }
  }

  void content(const ZipArchive& archive, const ZipArchive::Entry& entry, const std::string& record,
               int nesting) {
    sizes(archive, entry, record);
    const std::string head = archive.read(entry, kHead);
    if (const std::string code = describe_machine_code(head); !code.empty()) {
      add(SecurityKind::kCode, record, code, "machine code: " + code);
      return;
    }
    if (starts_as_zip(head)) return nested(archive, entry, record, nesting);
    const bool is_certain = is_pickle_name(entry.name) || pickles_.contains(record);
    if (is_certain || starts_as_pickle(head)) {
      return pickles(archive.read(entry, kMaxPickle), record, is_certain);
    }
    const std::string_view name = entry.name;
    if (name.ends_with(".py") && runs_python_) {
      add(SecurityKind::kCode, record, "", "Python code, which runs when the package is imported");
      return;
    }
    if (name.ends_with(".py")) return searched(archive.read(entry, kMaxSearched), record, "ops.");
    const bool is_program = name.ends_with(".json") && (name.find("models/") != std::string_view::npos ||
                                                        name.ends_with("serialized_exported_program.json"));
    if (is_program) searched(archive.read(entry, kMaxSearched), record, "torch.ops.");
  }

  void sizes(const ZipArchive& archive, const ZipArchive::Entry& entry, const std::string& record) {
    if (archive.find_stored(entry.name) || entry.size == entry.compressed_size) {
      if (entry.size == entry.compressed_size) return;
      return add(SecurityKind::kSize, record, "",
                 "it is not compressed, and declares " + std::to_string(entry.size) + " bytes for the " +
                     std::to_string(entry.compressed_size) + " that it has");
    }
    if (entry.size > kLarge && entry.size / kMuchLarger > entry.compressed_size) {
      return add(SecurityKind::kSize, record, "",
                 "it grows from " + std::to_string(entry.compressed_size) + " to " +
                     std::to_string(entry.size) + " bytes when it is unpacked");
    }
    if (entry.size > kMaxChecked) return;
    const std::size_t real = archive.read(entry, static_cast<std::size_t>(entry.size) + 1).size();
    if (real == entry.size) return;
    add(SecurityKind::kSize, record, "",
        "it declares " + std::to_string(entry.size) + " bytes and has " +
            (real > entry.size ? "more" : std::to_string(real)));
  }

  void nested(const ZipArchive& archive, const ZipArchive::Entry& entry, const std::string& record,
              int nesting) {
    if (nesting == kMaxArchives || ++nested_ > kMaxNested)
      return add(SecurityKind::kSize, record, "",
                 "too many archives within archives: it was not looked into");
    const ZipArchive inner(archive, entry.name);
    zip(inner, entry.size, record + "/", nesting + 1);
  }

  struct Pickle {
    bool is_number = false;
    std::optional<std::size_t> end;
  };

  // `is_certain`: it is one, whatever its bytes look like.
  Pickle pickle(std::string_view bytes, std::size_t start, const std::string& record, bool is_certain) {
    PickleMachine machine(bytes, start);
    const PickleMachine::End end = machine.run(PickleMachine::kMaxOpcodes);
    const bool is_whole = end == PickleMachine::End::kStop;
    const bool is_pickle = is_whole || is_certain;  // else bytes that begin like one
    std::set<std::string> named;
    for (std::size_t id = 0; id < machine.value_count(); ++id) {
      const auto global = static_cast<PickleMachine::Id>(id);
      if (machine.value(global).kind != PickleMachine::Kind::kGlobal) continue;
      const auto parts = machine.parts(global);
      const bool is_known = std::ranges::all_of(parts, [&](PickleMachine::Id part) {
        return machine.value(part).kind == PickleMachine::Kind::kString;
      });
      named.insert(is_known ? machine.global_name(global, kMaxName) : "");
    }
    for (const std::string& name : named) {
      if (!is_pickle && !std::ranges::all_of(name, [](char c) { return is_word(c) || c == '.'; })) continue;
      constexpr std::string_view kClass = "__torch__.torch.classes.";
      if (name.starts_with(kClass)) {
        library(record, name);
      } else if (name.empty()) {
        if (!is_pickle) continue;
        add(SecurityKind::kPickle, record, "", "its pickle makes up the name of what it calls");
      } else if (!is_harmless_global(name)) {
        add(SecurityKind::kPickle, record, name, "its pickle calls " + name);
      }
    }
    if (is_whole) {
      const auto result = machine.find_result();
      const auto kind = result ? machine.value(*result).kind : PickleMachine::Kind::kOther;
      // The legacy format's own number is too large for an integer.
      return {kind == PickleMachine::Kind::kInteger || kind == PickleMachine::Kind::kOther,
              machine.position()};
    }
    if (!is_pickle) return {};
    add(SecurityKind::kPickle, record, "",
        end == PickleMachine::End::kLimit ? "its pickle is too long to look through"
                                          : "its pickle cannot be read to its end");
    return {};
  }

  // Names of operators behind `mark`, and of classes.
  void searched(std::string_view text, const std::string& record, std::string_view mark) {
    const auto search = [&](std::string_view what, const auto& found) {
      for (std::size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) {
        if (at == 0 || !(is_word(text[at - 1]) || text[at - 1] == '.')) found(at);
      }
    };
    search(mark, [&](std::size_t at) {
      // Namespace and name; of an overload nothing is said.
      const std::string_view name = dotted_name(text, at + mark.size());
      const std::size_t dot = name.find('.');
      if (dot != std::string_view::npos)
        library(record, std::string(name.substr(0, name.find('.', dot + 1))));
    });
    search("__torch__.torch.classes.",
           [&](std::size_t at) { library(record, std::string(dotted_name(text, at))); });
  }

  void library(const std::string& record, const std::string& name) {
    if (!libraries_.insert(name).second) return;
    add(SecurityKind::kLibrary, record, name, "it needs " + name);
  }

  std::vector<SecurityFinding> findings_;
  std::unordered_set<std::string> libraries_;
  std::unordered_set<std::string> pickles_;  // records that are unpickled
  std::size_t nested_ = 0;
  bool runs_python_ = false;
};

}  // namespace

const char* to_string(SecurityKind kind) {
  constexpr std::array<const char*, kSecurityKinds> kNames = {"pickle",    "code", "path",
                                                              "duplicate", "size", "library"};
  return kNames[static_cast<std::size_t>(kind)];
}

bool is_harmless_global(std::string_view name) {
  // Those of torch/_weights_only_unpickler.py, with which tests/python/test_check.py compares this.
  static const std::unordered_set<std::string_view> known = words_of(
      "__builtin__.bytearray __builtin__.complex __builtin__.set _codecs.encode builtins.bytearray "
      "builtins.complex builtins.set collections.Counter collections.OrderedDict torch.Size torch.device "
      "torch.nn.parameter.Parameter torch._tensor._rebuild_from_type_v2 torch.serialization._get_layout "
      "torch._utils._rebuild_device_tensor_from_cpu_tensor torch._utils._rebuild_device_tensor_from_numpy "
      "torch._utils._rebuild_meta_tensor_no_storage torch._utils._rebuild_nested_tensor "
      "torch._utils._rebuild_parameter torch._utils._rebuild_parameter_with_state "
      "torch._utils._rebuild_qtensor torch._utils._rebuild_sparse_tensor torch._utils._rebuild_tensor "
      "torch._utils._rebuild_tensor_v2 torch._utils._rebuild_tensor_v3 "
      "torch._utils._rebuild_wrapper_subclass torch.storage.TypedStorage torch.storage.UntypedStorage "
      "torch.bool torch.uint8 torch.uint16 torch.uint32 torch.uint64 torch.int8 torch.int16 torch.int32 "
      "torch.int64 torch.uint1 torch.uint2 torch.uint3 torch.uint4 torch.uint5 torch.uint6 torch.uint7 "
      "torch.int1 torch.int2 torch.int3 torch.int4 torch.int5 torch.int6 torch.int7 torch.float16 "
      "torch.bfloat16 torch.float32 torch.float64 torch.float4_e2m1fn_x2 torch.float8_e4m3fn "
      "torch.float8_e4m3fnuz torch.float8_e5m2 torch.float8_e5m2fnuz torch.float8_e8m0fnu torch.complex32 "
      "torch.complex64 torch.complex128 torch.qint8 torch.quint8 torch.qint32 torch.quint4x2 "
      "torch.quint2x4 torch.bits16 torch.bits1x8 torch.bits2x4 torch.bits4x2 torch.bits8 "
      "torch.per_tensor_affine torch.per_tensor_symmetric torch.per_channel_affine "
      "torch.per_channel_symmetric torch.per_channel_affine_float_qparams");
  if (known.contains(name)) return true;
  // What LibTorch's own unpickler makes: objects of TorchScript's classes, and lists.
  if (name.starts_with("__torch__.") || name.starts_with("torch.jit._pickle.")) return true;
  // torch.FloatStorage, torch.cuda.sparse.HalfTensor.
  if (!name.ends_with("Storage") && !name.ends_with("Tensor")) return false;
  for (const std::string_view prefix : {"torch.cuda.sparse.", "torch.sparse.", "torch.cuda.", "torch."}) {
    if (name.starts_with(prefix) && name.find('.', prefix.size()) == std::string_view::npos) return true;
  }
  return false;
}

std::vector<SecurityFinding> scan_security(const ModelFile& file, const FileInfo& info) {
  Scan scan(info.kind == FileKind::kTorchPackage);
  const std::string head = file.read_at(0, kHead);
  const bool is_pickle = starts_as_pickle(head);
  if (is_pickle || info.kind == FileKind::kText) {  // the oldest pickles are text
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(file.size(), kMaxPickle));
    scan.pickles(file.read_at(0, size), "", is_pickle);
  } else if (ZipArchive::has_end_record(file)) {
    scan.zip(ZipArchive(file), file.size(), "", 0);
  } else if (info.kind == FileKind::kTar || info.kind == FileKind::kCompressed ||
             info.kind == FileKind::kUnknown) {
    scan.add(SecurityKind::kPickle, "", "",
             "it is " + info.what + ", which was not looked into" +
                 (info.kind == FileKind::kCompressed ? "" : "; torch.load unpickles what old archives hold"));
  }
  return scan.take();
}

}  // namespace fxtrace
