#include "security/security_scan.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "archive/compiled_model.h"
#include "archive/model_file.h"
#include "archive/pickle_machine.h"
#include "archive/zip_archive.h"
#include "exported/format/inert_texts.h"
#include "security/archive_records.h"
#include "security/bytecode_check.h"
#include "security/code_check.h"
#include "security/pickle_check.h"
#include "support/error.h"
#include "support/json_document.h"
#include "support/scope_guard.h"
#include "support/text/identifier.h"
#include "support/text/unicode.h"

namespace fxtrace::internal {
namespace {

using security::ArchiveKind;
using security::Payload;
using security::Reader;
using security::Unpickler;

constexpr std::size_t kHead = 1'024;  // the first bytes of a record, by which machine code is recognised
constexpr std::size_t kMaxWord = 1'000'000;  // bytes of a record that is a short text
constexpr std::size_t kMaxForCaller = 64'000'000;
constexpr std::size_t kMaxChecked = 256'000'000;  // bytes of a compressed record that is unpacked as a check
constexpr std::size_t kMaxName = 200;             // bytes of a name that a message repeats
constexpr std::size_t kMaxFindings = 10'000;
constexpr int kMaxArchives = 3;            // levels of archives within archives
constexpr std::size_t kMaxNested = 1'000;  // archives within archives, in all
// A record is reported that unpacks to more than kLarge bytes and kMuchLarger times its stored bytes.
constexpr std::uint64_t kMuchLarger = 100;
constexpr std::uint64_t kLarge = std::uint64_t{10} << 20;

bool starts_as_pickle(std::string_view bytes) {
  return bytes.size() > 2 && bytes[0] == '\x80' && bytes[1] >= 0 && bytes[1] <= 5;
}
bool starts_as_zip(std::string_view bytes) { return bytes.starts_with("PK\x03\x04"); }

// Returns whether the first header's checksum is right, as Python's tarfile checks it.  A tar archive begins
// with a name, so its first bytes may be any.
bool is_tar(std::string_view head) {
  constexpr std::size_t kBlock = 512, kSum = 148, kDigits = 8;
  if (head.size() < kBlock) return false;
  std::int64_t as_unsigned = 0, as_signed = 0, said = 0;
  for (std::size_t i = 0; i < kBlock; ++i) {
    const char c = i >= kSum && i < kSum + kDigits ? ' ' : head[i];
    as_unsigned += static_cast<unsigned char>(c);
    as_signed += static_cast<signed char>(c);
  }
  bool has_digits = false;
  for (const char c : head.substr(kSum, kDigits)) {
    if (c < '0' || c > '7') {
      if (has_digits) break;
      continue;
    }
    said = said * 8 + (c - '0');
    has_digits = true;
  }
  return has_digits && (said == as_unsigned || said == as_signed);
}

bool is_text(std::string_view bytes) {
  while (!bytes.empty()) {
    const Utf8Character character = first_character(bytes);
    const auto c = static_cast<unsigned char>(bytes.front());
    const bool is_control = c == 0x7f || (c < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\f');
    if (!character.valid || is_control) return false;
    bytes.remove_prefix(character.length);
  }
  return true;
}

// Returns whether the text is one word (a version, a byte order, a number), or with `lines` names of modules,
// one on each line.
bool is_words(std::string_view text, bool lines) {
  std::size_t count = 0;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const bool is_word_of_it =
        std::ranges::all_of(line, [](char c) { return is_word(c) || c == '.' || c == '+'; });
    const bool is_fine = line.empty() ? lines : is_word_of_it && is_word(line.back());
    if (!is_fine || (++count > 1 && !lines)) return false;
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return true;
}

// Returns whether the file is a JSON header that names tensors, and then exactly their bytes:
// {"w": {"dtype": "F32", "shape": [..], "data_offsets": [0, 16]}, "__metadata__": {..}}.
bool is_safetensors(std::string_view bytes, std::uint64_t size) {
  constexpr std::size_t kLength = 8;
  if (bytes.size() < kLength + 2 || bytes[kLength] != '{') return false;
  const std::uint64_t header = little_endian(bytes, 0, kLength);
  if (header > bytes.size() - kLength) return false;
  try {
    const JsonDocument document(bytes.substr(kLength, static_cast<std::size_t>(header)), "header");
    std::uint64_t end = 0;
    for (const JsonValue tensor : document.root().fields()) {
      if (tensor.key() == "__metadata__") continue;
      for (const JsonValue offset : tensor.at("data_offsets").items())
        end = std::max(end, static_cast<std::uint64_t>(offset.integer()));
    }
    return end == size - kLength - header;
  } catch (const Error&) {
    return false;
  }
}

bool is_json(std::string_view text) {
  try {
    const JsonDocument document(text, "text");
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Offences that are kept back until it is known whether they count.
class HeldBack {
 public:
  security::Tell teller() {
    return [this](SecurityKind kind, const std::string& subject, const std::string& message) {
      kept_.push_back({kind, "", subject, message});
    };
  }
  void tell(const security::Tell& to) const {
    for (const SecurityFinding& each : kept_) to(each.kind, each.subject, each.message);
  }

 private:
  std::vector<SecurityFinding> kept_;
};

class Scan {
 public:
  void zip(const std::shared_ptr<const ZipArchive>& archive, const std::string& prefix, int nesting) {
    names(*archive, prefix);
    Archive scanned{archive, security::find_archive_place(*archive), prefix, nesting, {}, {}, {}};
    payloads(scanned);
    for (const ZipArchive::Entry& entry : archive->entries()) {
      if (findings_.size() >= kMaxFindings) return;
      guarded(prefix + entry.name, [&] { record(scanned, entry); });
    }
    storages(scanned);
    indices(scanned);
    if (scanned.place.kind == ArchiveKind::kScript) {
      script(scanned);
      bytecode(scanned);
    }
  }

  // Checks a file that is a chain of archives, whose records are called "[3]/archive/data.pkl".
  void chain(const ModelFile& file, const std::vector<FileRange>& archives) {
    for (std::size_t i = 0; i < archives.size() && findings_.size() < kMaxFindings; ++i) {
      const std::string name = "[" + std::to_string(i) + "]";
      guarded(name, [&] { zip(std::make_shared<const ZipArchive>(file, archives[i]), name + "/", 0); });
    }
  }

  void checkpoint(std::string_view bytes, const security::CheckpointShards* shards) {
    security::check_checkpoint(bytes, shards, teller(""));
  }

  // Checks a file that is not a zip archive.  `what`: the kind of file, with an article.
  void file(std::string_view bytes, std::uint64_t size, const std::string& record, const std::string& what) {
    const auto tell = teller(record);
    if (bytes.empty()) return;
    if (const std::string code = describe_machine_code(bytes); !code.empty())
      return add(SecurityKind::kCode, record, code, "machine code: " + code);
    // torch.load unpickles every file that begins neither as a zip nor as a tar archive.
    if (is_tar(bytes)) {
      return add(SecurityKind::kUnknown, record, "",
                 "it is a tar archive, whose content torch.load unpickles and this scan does not check");
    }
    // The length at the beginning of a safetensors file may look like a pickle's first opcode.
    if (starts_as_pickle(bytes) && !is_safetensors(bytes, size))
      return security::check_pickle_file(bytes, size, tell);
    HeldBack told;
    if (security::check_as_pickle(bytes, size, true, told.teller()))
      return security::check_pickle_file(bytes, size, tell);
    told.tell(tell);
    if (bytes.size() == size && is_json(bytes)) return;
    if (is_safetensors(bytes, size)) return;
    if (bytes.size() == size && is_text(bytes) &&
        bytes.starts_with("version https://git-lfs.github.com/spec/"))
      return;
    add(SecurityKind::kUnknown, record, "",
        "it is " + what + ": fxtrace cannot tell what its reader does with it");
  }

  void add(SecurityKind kind, const std::string& record, std::string subject, std::string message) {
    if (findings_.size() >= kMaxFindings) return;
    if (!seen_
             .insert(std::to_string(static_cast<int>(kind)) + "\n" +
                     (kind == SecurityKind::kLibrary ? "" : record) + "\n" + subject + "\n" +
                     (kind == SecurityKind::kLibrary ? "" : message))
             .second)
      return;
    findings_.push_back({kind, record, std::move(subject), std::move(message)});
  }

  std::vector<SecurityFinding> take_result() { return std::move(findings_); }

 private:
  struct Archive {
    std::shared_ptr<const ZipArchive> zip;
    security::ArchivePlace place;
    std::string prefix;  // the beginning of its records' names in findings
    int nesting = 0;
    std::map<std::string, Payload, std::less<>> payloads;     // by record, with the folder
    std::map<std::string, std::uint64_t, std::less<>> bytes;  // sizes of storages by the pickles, by record
    // Tensors with indices, by the pickle, with the beginning of the names of its storages' records.
    struct Sparse {
      std::string record, storages;
      std::vector<security::SparseTensor> tensors;
    };
    std::vector<Sparse> sparse = {};
  };

  security::Tell teller(const std::string& record) {
    return [this, record](SecurityKind kind, const std::string& subject, const std::string& message) {
      add(kind, record, subject, message);
    };
  }

  template <class F>
  void guarded(const std::string& record, const F& f) {
    try {
      f();
    } catch (const Error& error) {
      add(SecurityKind::kSize, record, "", error.what());
    }
  }

  void names(const ZipArchive& archive, const std::string& prefix) {
    for (const ZipArchive::Entry& entry : archive.entries()) {
      const std::string record = prefix + entry.name;
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
    if (name.find("//") != std::string_view::npos)
      return "a path with an empty part: a reader may take the rest for an absolute path";
    return nullptr;
  }

  // Reads the configurations of weights and constants, by the records that torch.export.load asks for.  As
  // with os.path.join(), a name that begins with a slash replaces the folder.
  void payloads(Archive& archive) {
    if (archive.place.kind != ArchiveKind::kExported) return;
    for (const ZipArchive::Entry& entry : archive.zip->entries()) {
      if (reader_of(archive, entry) != Reader::kPayloads) continue;
      const std::string record = archive.prefix + entry.name;
      guarded(record, [&] {
        const JsonDocument document(JsonText{archive.zip->read(entry, security::kMaxPickle)}, entry.name);
        const std::string folder = entry.name.substr(0, entry.name.rfind('/') + 1);
        for (const auto& [path, payload] : security::read_payloads(document.root(), teller(record))) {
          const bool leads_away = path.find_first_of("/\\") != std::string::npos;  // read_payloads() tells
          const std::string named = path.starts_with('/') ? archive.place.folder + path : folder + path;
          Payload& known = archive.payloads.emplace(named, payload).first->second;
          known.is_pickled |= payload.is_pickled;
          known.is_tensor &= payload.is_tensor;
          if (!leads_away && archive.zip->find_exactly(named) == nullptr)
            add(SecurityKind::kSize, record, path.substr(0, kMaxName),
                "it names the record '" + path.substr(0, kMaxName) +
                    "', but the archive has no record of that name");
        }
      });
    }
  }

  static std::string_view name_in(const Archive& archive, const ZipArchive::Entry& entry) {
    std::string_view name = entry.name;
    if (!name.starts_with(archive.place.folder)) return {};
    name.remove_prefix(archive.place.folder.size());
    return name;
  }
  static Reader reader_of(const Archive& archive, const ZipArchive::Entry& entry) {
    const std::string_view name = name_in(archive, entry);
    return name.empty() ? Reader::kNobody : security::reader_of(archive.place.kind, name);
  }

  void record(Archive& archive, const ZipArchive::Entry& entry) {
    const std::string record = archive.prefix + entry.name;
    if (entry.name.ends_with('/') && entry.size == 0) return;  // a folder
    sizes(*archive.zip, entry, record);
    const std::string head = archive.zip->read(entry, kHead);
    if (const std::string code = describe_machine_code(head); !code.empty())
      return add(SecurityKind::kCode, record, code, "machine code: " + code);
    const auto whole = [&](std::size_t most) { return archive.zip->read(entry, most); };
    if (const std::size_t end = security::end_of_compiled_model(name_in(archive, entry)); end != 0) {
      return add(SecurityKind::kCode,
                 record.substr(0, archive.prefix.size() + archive.place.folder.size() + end), "",
                 "a compiled model, which torch compiles, loads and runs");  // one offence for all of them
    }
    const auto payload = archive.payloads.find(entry.name);
    Reader reader = reader_of(archive, entry);
    if (payload != archive.payloads.end()) {
      reader = Reader::kPayload;
    } else if (reader == Reader::kPayload) {
      // The weights of a compiled model have no configuration in this folder.
      reader = starts_as_zip(head) ? Reader::kLoaded : Reader::kNobody;
    }
    if (is_finder_note(entry, head)) return;
    // The lite interpreter's loader reads those of every folder.
    if (archive.place.kind == ArchiveKind::kScript && entry.name.ends_with(".debug_pkl"))
      security::check_sources(read_pickle(archive, entry), teller(record));
    switch (reader) {
      case Reader::kText:
        if (entry.size > kMaxWord || !is_words(whole(kMaxWord), entry.name.ends_with("extern_modules")))
          unknown(record, "expected a number or a word");
        return;
      case Reader::kPickle:
      case Reader::kScriptPickle:
        return pickle(archive, entry, record,
                      reader == Reader::kPickle && !is_object_ ? Unpickler::kTorch : Unpickler::kLibTorch);
      case Reader::kStorage:
      case Reader::kScriptCode:
        return;  // checked later, all together
      case Reader::kProgram: {
        const JsonDocument document(JsonText{whole(JsonDocument::kMaxText + 1)}, entry.name);
        return security::check_program(document.root(), teller(record));
      }
      case Reader::kPayloads:
        return;  // checked before, by payloads()
      case Reader::kPayload:
        return this->payload(archive, entry, payload->second, record, head);
      case Reader::kLoaded:
        return loaded(archive, entry, record, head);
      case Reader::kPython:
        return add(SecurityKind::kCode, record, "", "Python code, which runs when the package is imported");
      case Reader::kForCaller:
        return for_caller(archive, entry, record, head);
      case Reader::kNobody:
        return nobody(archive, entry, record, head);
    }
  }

  // Returns whether the record is a file that macOS adds when it packs a folder; torch never reads it.
  static bool is_finder_note(const ZipArchive::Entry& entry, std::string_view head) {
    constexpr std::string_view kMagic("\0\x05\x16\x07", 4);
    return entry.name.starts_with("__MACOSX/") && head.starts_with(kMagic) && entry.size < kMaxWord;
  }

  void unknown(const std::string& record, const std::string& what) {
    add(SecurityKind::kUnknown, record, "", "cannot tell what a reader does with it: " + what);
  }

  // Throws Error(kInput) for a pickle that is compressed, which torch never does, and would take far more
  // memory than the file.
  static std::string read_pickle(const Archive& archive, const ZipArchive::Entry& entry) {
    if (entry.size >
        std::max<std::uint64_t>(PickleMachine::max_opcodes(entry.compressed_size), entry.compressed_size)) {
      throw input_error("its pickle grows from " + std::to_string(entry.compressed_size) + " to " +
                        std::to_string(entry.size) + " bytes: it was not checked");
    }
    return archive.zip->read(entry, security::kMaxPickle + 1);
  }

  void pickle(Archive& archive, const ZipArchive::Entry& entry, const std::string& record,
              Unpickler unpickler) {
    const std::string bytes = read_pickle(archive, entry);
    auto reading = security::check_pickle(bytes, 0, unpickler, teller(record));
    example_inputs(bytes, record);
    if (reading.is_whole && reading.end != bytes.size())
      unknown(record, std::to_string(bytes.size() - reading.end) + " bytes follow its pickle");
    // data.pkl has its storages in data/; all pickles of a package have theirs in one folder.
    const std::string_view name = entry.name;
    std::string folder(name.substr(0, name.rfind('.')));
    const bool is_package = archive.place.kind == ArchiveKind::kPackage;
    // The lite interpreter's loader looks for the tensors of its code beside the constants if it finds no
    // folder of that name.
    if (name == archive.place.folder + "bytecode.pkl" &&
        std::ranges::none_of(archive.zip->entries(), [](const ZipArchive::Entry& each) {
          return each.name.find("bytecode/") != std::string::npos;
        }))
      folder = archive.place.folder + "constants";
    const std::string start = is_package ? archive.place.folder + ".data/" : folder + "/";
    for (const auto& [key, size] : reading.storages) {
      const std::string named = start + key + storage_suffix(archive);
      const auto [place, is_new] = archive.bytes.emplace(named, size);
      if (!is_new && place->second != size)
        add(SecurityKind::kSize, record, key.substr(0, kMaxName), "its pickles give a storage two sizes");
      // miniz, by which torch finds a record, takes no notice of case and ends a name at a zero byte.
      if (size != 0 && archive.zip->find_exactly(named) == nullptr)
        add(SecurityKind::kSize, record, key.substr(0, kMaxName),
            "its pickle has a storage '" + key.substr(0, kMaxName) +
                "', but the archive has no record of that name");
    }
    if (!reading.sparse.empty()) archive.sparse.push_back({record, start, std::move(reading.sparse)});
  }

  static std::string storage_suffix(const Archive& archive) {
    return archive.place.kind == ArchiveKind::kPackage ? ".storage" : "";
  }

  void indices(const Archive& archive) {
    for (const auto& [record, start, tensors] : archive.sparse) {
      guarded(record, [&] {
        const auto read = [&](const std::string& key, std::uint64_t bytes) -> std::optional<std::string> {
          const ZipArchive::Entry* entry = archive.zip->find_exactly(start + key + storage_suffix(archive));
          if (entry == nullptr || entry->size < bytes) return std::nullopt;
          return archive.zip->read(*entry, static_cast<std::size_t>(bytes));
        };
        security::check_indices(tensors, read, teller(record));
      });
    }
  }

  void storages(const Archive& archive) {
    for (const ZipArchive::Entry& entry : archive.zip->entries()) {
      if (reader_of(archive, entry) != Reader::kStorage) continue;
      const std::string record = archive.prefix + entry.name;
      const auto found = archive.bytes.find(entry.name);
      if (found == archive.bytes.end()) {
        unknown(record, "no pickle of the archive refers to it");
      } else if (entry.size == 0 && name_in(archive, entry).starts_with("traced_inputs/")) {
        continue;  // LibTorch keeps only the sizes of traced inputs
      } else if (found->second != entry.size) {
        add(SecurityKind::kSize, record, "",
            "it has " + std::to_string(entry.size) + " bytes, but its pickle says " +
                std::to_string(found->second));
      }
    }
  }

  void payload(Archive& archive, const ZipArchive::Entry& entry, const Payload& payload,
               const std::string& record, const std::string& head) {
    const std::string_view last = std::string_view(entry.name).substr(entry.name.rfind('/') + 1);
    const bool is_constant = entry.name.starts_with(archive.place.folder + "data/constants/");
    if (is_constant && last.starts_with("opaque_obj_")) {
      const std::string bytes = read_pickle(archive, entry);
      return security::check_pickle_file(bytes, entry.size, teller(record));
    }
    if (is_constant && last.starts_with("custom_obj_"))
      return nested(archive, entry, record, true);  // LibTorch's unpickler reads it
    if (payload.is_pickled) return loaded(archive, entry, record, head);
    if (!payload.is_tensor) unknown(record, "its configuration describes neither a tensor nor a pickle");
    // Any other payload is a tensor, whose size find_cut_tensors() checks.
  }

  void example_inputs(std::string_view bytes, const std::string& record) {
    if (!is_example_) return;
    if (auto problem = problem_of_example_inputs(bytes))
      add(SecurityKind::kCode, record, "", *std::move(problem));
  }

  // Checks a record that is given to torch.load.
  void loaded(Archive& archive, const ZipArchive::Entry& entry, const std::string& record,
              const std::string& head) {
    const std::string_view name = name_in(archive, entry);
    const bool was_example = std::exchange(
        is_example_, name.starts_with("data/sample_inputs/") || name == "serialized_example_inputs.pt");
    const Restore restore([&] { is_example_ = was_example; });
    if (starts_as_zip(head)) return nested(archive, entry, record, false);
    if (entry.size == 0) return;
    const std::string bytes = read_pickle(archive, entry);
    if (is_tar(bytes)) return file(bytes, entry.size, record, "a tar archive");
    security::check_pickle_file(bytes, entry.size, teller(record));
    example_inputs(bytes, record);
  }

  // Checks a record that is given to a caller: text is harmless, but other bytes may be anything.
  void for_caller(Archive& archive, const ZipArchive::Entry& entry, const std::string& record,
                  const std::string& head) {
    if (starts_as_zip(head)) return nested(archive, entry, record, false);
    const std::string bytes = archive.zip->read(entry, kMaxForCaller + 1);
    if (starts_as_pickle(bytes)) return security::check_pickle_file(bytes, entry.size, teller(record));
    HeldBack told;
    const bool is_pickle = security::check_as_pickle(bytes, entry.size, false, told.teller());
    if (is_pickle && archive.place.kind == ArchiveKind::kPackage)
      return security::check_pickle_file(bytes, entry.size, teller(record));
    told.tell(teller(record));
    if (bytes.size() > kMaxForCaller || !is_text(bytes))
      unknown(record, "it is given to callers as it is, and is not text");
  }

  void nobody(Archive& archive, const ZipArchive::Entry& entry, const std::string& record,
              const std::string& head) {
    if (starts_as_zip(head)) {
      nested(archive, entry, record, false);
      if (archive.place.kind == ArchiveKind::kOther) return;
    } else {
      const std::string bytes = archive.zip->read(entry, kMaxForCaller);
      if (archive.place.kind == ArchiveKind::kOther) return in_folder(entry, bytes, record);
      // Findings in a pickle say more than that the record is not recognised.
      if (starts_as_pickle(bytes))
        security::check_pickle_file(bytes, entry.size, teller(record));
      else
        security::check_as_pickle(bytes, entry.size, false, teller(record));
    }
    unknown(record, name_in(archive, entry).empty()
                        ? "it is not in the folder of the archive's first record"
                        : "torch writes no record of this name into such an archive");
  }

  // Checks a record of a zip archive that is not a model's: text, a model, or another file.
  void in_folder(const ZipArchive::Entry& entry, std::string_view bytes, const std::string& record) {
    const std::string_view name = std::string_view(entry.name).substr(entry.name.rfind('/') + 1);
    constexpr std::array<std::string_view, 7> kTexts = {".txt",  ".md",  ".rst", ".csv",
                                                        ".yaml", ".yml", ".json"};
    const bool may_be_text =
        name.find('.') == std::string_view::npos ||
        std::ranges::any_of(kTexts, [&](std::string_view end) { return name.ends_with(end); });
    if (may_be_text && bytes.size() == entry.size && is_text(bytes)) {
      security::check_as_pickle(bytes, entry.size, false, teller(record));
      return;
    }
    file(bytes, entry.size, record, "of an unknown kind");
  }

  void sizes(const ZipArchive& archive, const ZipArchive::Entry& entry, const std::string& record) {
    if (entry.size == entry.compressed_size) return;
    if (entry.size > kLarge && entry.size / kMuchLarger > entry.compressed_size) {
      return add(SecurityKind::kSize, record, "",
                 "it grows from " + std::to_string(entry.compressed_size) + " to " +
                     std::to_string(entry.size) + " bytes when it is unpacked");
    }
    // Reading a byte more than the size checks that the record ends there.
    if (entry.size <= kMaxChecked) (void)archive.read(entry, static_cast<std::size_t>(entry.size) + 1);
  }

  // Scans a record that is a zip archive.  `is_object`: it is an object of a C++ class, which LibTorch
  // unpickles.
  void nested(const Archive& archive, const ZipArchive::Entry& entry, const std::string& record,
              bool is_object) {
    if (archive.nesting == kMaxArchives || ++nested_ > kMaxNested)
      return add(SecurityKind::kSize, record, "", "too many archives within archives: it was not checked");
    const auto inner = std::make_shared<const ZipArchive>(*archive.zip, entry.name);
    const bool was_object = std::exchange(is_object_, is_object);
    zip(inner, record + "/", archive.nesting + 1);
    is_object_ = was_object;
  }

  void script(const Archive& archive) {
    FileInfo info;
    info.kind = FileKind::kTorchScript;
    info.zip = archive.zip;
    info.root =
        archive.place.folder.substr(0, archive.place.folder.size() - (archive.place.folder.empty() ? 0 : 1));
    const std::string folder = archive.prefix + archive.place.folder;
    try {
      security::check_script(
          info, [&](const std::string& record, SecurityKind kind, const std::string& subject,
                    const std::string& message) { add(kind, folder + record, subject, message); });
    } catch (const Error& error) {
      unknown(folder + "code/", error.what());
    }
  }

  // Checks the code for the lite interpreter, if the archive has such.
  void bytecode(const Archive& archive) {
    const auto read = [&](const char* name) {
      const ZipArchive::Entry* entry = archive.zip->find_exactly(archive.place.folder + name);
      return entry == nullptr ? std::string() : read_pickle(archive, *entry);
    };
    const std::string record = archive.prefix + archive.place.folder + "bytecode.pkl";
    if (archive.zip->find_exactly(archive.place.folder + "bytecode.pkl") == nullptr) return;
    guarded(record, [&] {
      security::MobileRecords records{read("bytecode.pkl"), read("data.pkl"),
                                      read("mobile_debug_handles.pkl")};
      for (const char* name : {".data/version", "version"}) {
        const ZipArchive::Entry* entry = archive.zip->find_exactly(archive.place.folder + name);
        if (entry == nullptr) continue;
        const std::string text = archive.zip->read(*entry, kMaxWord);
        std::from_chars(text.data(), text.data() + text.size(), records.version);
      }
      security::check_bytecode(records, teller(record));
    });
  }

  std::vector<SecurityFinding> findings_;
  std::unordered_set<std::string> seen_;
  std::size_t nested_ = 0;
  bool is_object_ = false;   // what is scanned is an object of a C++ class
  bool is_example_ = false;  // what is scanned are a program's example inputs
};

}  // namespace

std::vector<SecurityFinding> scan_security(const ModelFile& file, const FileInfo& info,
                                           const security::CheckpointShards* shards) {
  Scan scan;
  const auto first_bytes = [&](std::size_t most) {
    return file.read_at(0, static_cast<std::size_t>(std::min<std::uint64_t>(file.size(), most)));
  };
  const std::string head = first_bytes(kHead);
  const auto most_of = [](std::string_view start) {
    const bool is_read_whole = starts_as_pickle(start) || start.starts_with('{') || start.starts_with('[');
    return is_read_whole ? security::kMaxPickle : kMaxForCaller;
  };
  if (const auto archives = find_saved_archives(file); archives.size() > 1) {
    scan.chain(file, archives);
    return scan.take_result();
  }
  const bool has_end = info.zip != nullptr || ZipArchive::has_end_record(file);
  if (has_end) {
    const auto zip = info.zip != nullptr ? info.zip : std::make_shared<const ZipArchive>(file);
    zip->check_is_whole();
    // torch.load does not take a file with other first bytes for a zip archive.
    constexpr std::uint64_t kEmptyZip = 22;
    if (!starts_as_zip(head) && !(head.starts_with("PK\x05\x06") && file.size() == kEmptyZip))
      scan.file(first_bytes(most_of(head)), file.size(), "", "a zip archive with other bytes in front");
    scan.zip(zip, "", 0);
    const auto place = security::find_archive_place(*zip);
    const std::string root = info.root.empty() ? "" : info.root + "/";
    if (is_traceable(info.kind) && place.folder != root)
      scan.add(SecurityKind::kUnknown, "", "",
               "readers differ on which folder of the archive has the model: '" + root + "' or '" +
                   place.folder + "'");
  } else {
    const std::string bytes = first_bytes(most_of(head));
    scan.file(bytes, file.size(), "", info.what);
    scan.checkpoint(bytes, shards);
  }
  return scan.take_result();
}

}  // namespace fxtrace::internal
