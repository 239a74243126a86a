// The table of records in torch's archives, with the reader of each.  A record that has no row is not
// recognised.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "archive/zip_archive.h"

namespace fxtrace::internal::security {

enum class ArchiveKind : std::uint8_t {
  kSaved,        // torch.save
  kScript,       // TorchScript, also for the lite interpreter
  kExported,     // torch.export.save, and AOTInductor
  kOldExported,  // torch.export.save before PyTorch 2.8
  kPackage,      // torch.package
  kOther,        // not an archive that torch reads: a folder of files
};

// The reader of a record, which determines what the record must be.
enum class Reader : std::uint8_t {
  kNobody,        // not recognised
  kText,          // a short text: a version, a byte order, a number
  kPickle,        // unpickled by torch.load
  kScriptPickle,  // unpickled by LibTorch
  kStorage,       // a tensor's bytes, with the size that the pickle states
  kScriptCode,    // code of TorchScript, which is checked as a whole
  kProgram,       // the JSON of an exported program
  kPayloads,      // the configuration of weights or constants
  kPayload,       // a record that such a configuration names
  kLoaded,        // given to torch.load: an archive or a pickle; or empty
  kPython,        // Python code, which is imported
  kForCaller,     // given to whoever asks for it, as it is
};

struct ArchivePlace {
  ArchiveKind kind = ArchiveKind::kOther;
  std::string folder;  // the folder of all records, with a slash; torch takes that of the first record
};
ArchivePlace find_archive_place(const ZipArchive& zip);

// Returns the end of the part of the record's name that says of which compiled model it is a part: one of
// AOTInductor, which torch compiles, loads or runs; 0 if it is of none.  torch takes what begins with one of
// two names, in an archive of any kind, by the ends of their names, and asks no configuration.
std::size_t end_of_compiled_model(std::string_view name);

// Returns the reader of the record `name`, which is given without the archive's folder.
Reader reader_of(ArchiveKind kind, std::string_view name);

}  // namespace fxtrace::internal::security
