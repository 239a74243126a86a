// The kind of a file, identified by its content and never by its name.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "archive/model_file.h"
#include "support/error.h"

namespace fxtrace::internal {

class ZipArchive;

enum class FileKind {
  kTorchScript,
  kOldTorchScript,   // TorchScript of PyTorch 1.0 and 1.1
  kLiteInterpreter,  // for mobile, without TorchScript code: a zip with bytecode.pkl, or a flatbuffer
  kExportedProgram,  // torch.export.save
  kAotInductor,      // compiled by torch._inductor
  kTorchSave,        // torch.save, zip or legacy, or a chain of them
  kTorchPackage,
  kPickle,
  kSafetensors,
  kTar,
  kOnnx,
  kOtherModel,  // a model of another framework
  kCompressed,  // gzip and the like; the content is not examined
  kZip,         // any other zip archive
  kBrokenZip,   // damaged or cut off
  kPointer,     // a pointer to a file that was not downloaded (Git LFS, git-annex)
  kText,        // source code, HTML, JSON, ...
  kEmpty,
  kUnknown,
};
const char* to_string(FileKind kind);  // "torchscript", "lite_interpreter", ...

// Returns whether fxtrace can trace this kind.
bool is_traceable(FileKind kind);

struct FileInfo {
  FileKind kind = FileKind::kUnknown;
  std::string what;  // a description with an article: "a state_dict saved with torch.save: it holds no graph"
  std::string advice;  // how to get a traceable file; empty if this is one
  std::uint64_t size = 0;
  // For zip archives of PyTorch: the folder of all records (without a slash, may be empty), and, except for
  // exported programs, the archive's version.
  std::string root;
  std::string producer_version;
  std::shared_ptr<const ZipArchive> zip;  // the open archive, for a zip archive
};

// Reads a few kilobytes, however large the file is; of a chain of archives a few bytes of each.  Throws
// Error(kInput, at the path) for a zip archive that is built to exhaust time or memory.
FileInfo identify_file(const ModelFile& file);

// Returns the error for a file that cannot be traced, with one line that says what it is and what to do.
Error not_traceable(const FileInfo& info);

}  // namespace fxtrace::internal
