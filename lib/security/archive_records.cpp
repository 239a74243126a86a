#include "security/archive_records.h"

#include <algorithm>
#include <array>

namespace fxtrace::internal::security {
namespace {

struct Row {
  ArchiveKind kind;
  std::string_view start, end;  // of the record's name; `start` is all of it where `end` is empty
  Reader reader;
};
constexpr std::string_view kWhole;

// The first row that fits a record counts; an end of "*" fits any.
constexpr auto kRows = std::to_array<Row>({
    {ArchiveKind::kSaved, "data.pkl", kWhole, Reader::kPickle},
    {ArchiveKind::kSaved, "data/", "*", Reader::kStorage},

    {ArchiveKind::kScript, "data.pkl", kWhole, Reader::kScriptPickle},
    {ArchiveKind::kScript, "data/", "*", Reader::kStorage},
    {ArchiveKind::kScript, "constants.pkl", kWhole, Reader::kScriptPickle},
    {ArchiveKind::kScript, "constants/", "*", Reader::kStorage},
    {ArchiveKind::kScript, "traced_inputs.pkl", kWhole, Reader::kScriptPickle},
    {ArchiveKind::kScript, "traced_inputs/", "*", Reader::kStorage},
    {ArchiveKind::kScript, "code/", ".py", Reader::kScriptCode},
    {ArchiveKind::kScript, "code/", ".debug_pkl", Reader::kScriptPickle},
    {ArchiveKind::kScript, "bytecode.pkl", kWhole, Reader::kScriptPickle},
    {ArchiveKind::kScript, "bytecode/", "*", Reader::kStorage},
    {ArchiveKind::kScript, "mobile_debug_handles.pkl", kWhole, Reader::kScriptPickle},
    {ArchiveKind::kScript, "mobile_debug.pkl", kWhole, Reader::kScriptPickle},
    {ArchiveKind::kScript, "delegated_backends.debug_pkl", kWhole, Reader::kScriptPickle},
    {ArchiveKind::kScript, "callstack_debug_map.pkl", kWhole, Reader::kScriptPickle},
    {ArchiveKind::kScript, "metadata.pkl", kWhole, Reader::kScriptPickle},
    {ArchiveKind::kScript, "extra/", "*", Reader::kForCaller},

    {ArchiveKind::kExported, "archive_format", kWhole, Reader::kText},
    {ArchiveKind::kExported, "archive_version", kWhole, Reader::kText},
    {ArchiveKind::kExported, "models/", ".json", Reader::kProgram},
    {ArchiveKind::kExported, "data/weights/", "_weights_config.json", Reader::kPayloads},
    {ArchiveKind::kExported, "data/weights/", ".pt", Reader::kLoaded},
    {ArchiveKind::kExported, "data/weights/", "*", Reader::kPayload},
    {ArchiveKind::kExported, "data/constants/", "_constants_config.json", Reader::kPayloads},
    {ArchiveKind::kExported, "data/constants/", ".pt", Reader::kLoaded},
    {ArchiveKind::kExported, "data/constants/", "*", Reader::kPayload},
    {ArchiveKind::kExported, "data/sample_inputs/", ".pt", Reader::kLoaded},
    {ArchiveKind::kExported, "extra/", "*", Reader::kForCaller},

    {ArchiveKind::kOldExported, "serialized_exported_program.json", kWhole, Reader::kProgram},
    {ArchiveKind::kOldExported, "serialized_state_dict.pt", kWhole, Reader::kLoaded},
    {ArchiveKind::kOldExported, "serialized_state_dict.json", kWhole, Reader::kLoaded},
    {ArchiveKind::kOldExported, "serialized_constants.pt", kWhole, Reader::kLoaded},
    {ArchiveKind::kOldExported, "serialized_constants.json", kWhole, Reader::kLoaded},
    {ArchiveKind::kOldExported, "serialized_example_inputs.pt", kWhole, Reader::kLoaded},
    {ArchiveKind::kOldExported, "extra_files/", "*", Reader::kForCaller},

    {ArchiveKind::kPackage, ".data/extern_modules", kWhole, Reader::kText},
    {ArchiveKind::kPackage, ".data/python_version", kWhole, Reader::kText},
    {ArchiveKind::kPackage, ".data/ts_code/", "*", Reader::kNobody},
    {ArchiveKind::kPackage, ".data/", ".storage", Reader::kStorage},
    {ArchiveKind::kPackage, kWhole, ".py", Reader::kPython},
    {ArchiveKind::kPackage, kWhole, ".pkl", Reader::kPickle},
});

// Records that PyTorch's writer puts into every archive.
constexpr std::array<std::string_view, 6> kOfEvery = {"version",         "byteorder",
                                                      ".data/version",   ".data/serialization_id",
                                                      ".format_version", ".storage_alignment"};

bool fits(const Row& row, std::string_view name) {
  if (row.end == "*") return name.starts_with(row.start) && name.size() > row.start.size();
  if (row.end.empty()) return name == row.start;
  return name.starts_with(row.start) && name.ends_with(row.end) &&
         name.size() > row.start.size() + row.end.size();
}

}  // namespace

ArchivePlace find_archive_place(const ZipArchive& zip) {
  ArchivePlace place;
  if (zip.entries().empty()) return place;
  const std::string& first = zip.entries().front().name;
  place.folder = first.substr(0, first.find('/') + 1);
  if (zip.contains("serialized_exported_program.json")) {
    place.folder.clear();
    place.kind = ArchiveKind::kOldExported;
    return place;
  }
  const auto has = [&](std::string_view name) { return zip.contains(place.folder + std::string(name)); };
  const auto has_folder = [&](std::string_view name) {
    return std::ranges::any_of(zip.entries(), [&](const ZipArchive::Entry& entry) {
      return entry.name.starts_with(place.folder + std::string(name));
    });
  };
  if (has("constants.pkl") || has("bytecode.pkl")) {
    place.kind = ArchiveKind::kScript;
  } else if (has(".data/extern_modules")) {
    place.kind = ArchiveKind::kPackage;
  } else if (has("archive_format") || has("archive_version") || has_folder("models/") ||
             has_folder("data/aotinductor/") || has_folder("data/weights/")) {
    place.kind = ArchiveKind::kExported;
  } else if (has("data.pkl")) {
    place.kind = ArchiveKind::kSaved;
  }
  return place;
}

std::size_t end_of_compiled_model(std::string_view name) {
  constexpr std::string_view kModels = "data/aotinductor", kConstants = "data/constants";
  std::string normal(name);  // as on Windows
  std::ranges::replace(normal, '\\', '/');
  if (normal.starts_with(kModels)) {
    const std::size_t model = normal.find('/', std::min(normal.size(), kModels.size() + 1));
    return model == std::string::npos ? name.size() : model + 1;
  }
  if (!normal.starts_with(kConstants)) return 0;
  // The names of constants have no end; the others are not looked for.
  const std::string_view last = std::string_view(normal).substr(normal.rfind('/') + 1);
  const bool is_constant = last.find('.') == std::string_view::npos || last.ends_with(".pt") ||
                           last.ends_with("_constants_config.json");
  return is_constant ? 0 : name.size();
}

Reader reader_of(ArchiveKind kind, std::string_view name) {
  if (kind == ArchiveKind::kOther) return Reader::kNobody;
  if (std::ranges::find(kOfEvery, name) != kOfEvery.end()) return Reader::kText;
  for (const Row& row : kRows) {
    if (row.kind != kind || !fits(row, name)) continue;
    // The key of a storage has no folders.
    const bool is_deep =
        row.reader == Reader::kStorage && name.find('/', row.start.size()) != std::string_view::npos;
    return is_deep ? Reader::kNobody : row.reader;
  }
  // A caller of torch.package may load any other record as text, bytes or a pickle.
  return kind == ArchiveKind::kPackage && !name.starts_with(".data/") ? Reader::kForCaller : Reader::kNobody;
}

}  // namespace fxtrace::internal::security
