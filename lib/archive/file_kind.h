// What kind of file this is, told from its bytes and never from its name.
#pragma once

#include <cstdint>
#include <string>

#include "archive/model_file.h"
#include "support/error.h"

namespace fxtrace {

enum class FileKind {
  kTorchScript,
  kOldTorchScript,   // of PyTorch 1.0 and 1.1
  kLiteInterpreter,  // for mobile, without TorchScript code: a zip with bytecode.pkl, or a flatbuffer
  kExportedProgram,  // torch.export.save
  kAotInductor,      // compiled by torch._inductor
  kTorchSave,        // torch.save, zip or legacy
  kTorchPackage,
  kPickle,
  kSafetensors,
  kTar,
  kOnnx,
  kOtherModel,  // a model format of another framework
  kCompressed,  // gzip and the like: what is inside is not looked at
  kZip,         // a zip archive of something else
  kBrokenZip,   // damaged or cut off
  kPointer,     // stands for a file that was not downloaded (Git LFS, git-annex)
  kText,        // source code, HTML, JSON, ...
  kEmpty,
  kUnknown,
};
const char* to_string(FileKind kind);  // "torchscript", "lite_interpreter", ...

// The one place that says which kinds fxtrace traces.
bool is_traceable(FileKind kind);

struct FileInfo {
  FileKind kind = FileKind::kUnknown;
  std::string what;    // with its article: "a state_dict saved with torch.save: it holds no graph"
  std::string advice;  // how to get something traceable; empty for what is
  std::uint64_t size = 0;
  // Of zip archives of PyTorch only: the folder in which all records stand (without a slash, may be empty),
  // and, but for exported programs, what the archive says of its version.
  std::string root;
  std::string producer_version;
};

// Reads a few kilobytes, however big the file is.  Throws Error(kInput, at the path) when it is a zip archive
// that is made to exhaust time or memory.
FileInfo identify_file(const ModelFile& file);

// The one line for a file that cannot be traced: what it is and what to do.
Error not_traceable(const FileInfo& info);

}  // namespace fxtrace
