// Which records archives of torch have, and what reads each: a record that no row has is not recognised.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "archive/zip_archive.h"

namespace fxtrace::security {

enum class ArchiveKind : std::uint8_t {
  kSaved,        // torch.save
  kScript,       // TorchScript, also for the lite interpreter
  kExported,     // torch.export.save, and AOTInductor
  kOldExported,  // torch.export.save before PyTorch 2.8
  kPackage,      // torch.package
  kOther,        // none that torch reads: a folder of files
};

// Who reads a record, and thereby what it must be.
enum class Reader : std::uint8_t {
  kNobody,        // not recognised
  kText,          // a short text: a version, an order of bytes, a number
  kPickle,        // unpickled by torch.load
  kScriptPickle,  // unpickled by LibTorch
  kStorage,       // a tensor's bytes, of the size that the pickle says
  kScriptCode,    // looked at as a whole
  kProgram,       // the JSON of an exported program
  kPayloads,      // the configuration of weights or constants
  kPayload,       // what such a configuration names
  kLoaded,        // given to torch.load: an archive or a pickle; or empty
  kCompiled,      // of AOTInductor: compiled or run
  kPython,        // code of Python, which is imported
  kBytecode,      // instructions of the lite interpreter
  kForCaller,     // given to whoever asks for it, as it is
};

struct ArchivePlace {
  ArchiveKind kind = ArchiveKind::kOther;
  std::string folder;  // of all records, with a slash; torch takes that of the first record
};
ArchivePlace find_archive_place(const ZipArchive& zip);

// `name`: the record's, without the archive's folder.
Reader reader_of(ArchiveKind kind, std::string_view name);

}  // namespace fxtrace::security
