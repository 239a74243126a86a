// Looks for what a file would have its reader do, without running, loading or unpacking anything.
#pragma once

#include <string>
#include <vector>

#include "archive/file_kind.h"
#include "archive/model_file.h"

namespace fxtrace {

enum class SecurityKind {
  kPickle,     // a pickle that calls what torch.load(weights_only=True) refuses
  kCode,       // machine code
  kPath,       // a name that leaves the folder that the archive is unpacked into
  kDuplicate,  // two records of one name: readers differ in which one they take
  kSize,       // sizes and places that do not fit together, and records that grow beyond measure
  kLibrary,    // operators and classes that a library has to register before
};
inline constexpr std::size_t kSecurityKinds = 6;
const char* to_string(SecurityKind kind);  // "pickle"

struct SecurityFinding {
  SecurityKind kind = SecurityKind::kPickle;
  std::string record;   // of the archive; "a.pt/data.pkl" of an archive in it; empty: the file itself
  std::string subject;  // of a pickle what it calls, of a library the operator or class: "os.system"
  std::string message;  // for people, without the record; text of the file in it is not escaped
};

// Returns what is found in any kind of file, in the order of its records.  Operators and classes are all that
// the file names, also those that torch itself registers.  `info` is the result of identify_file().  Work and
// memory are bounded as for ZipArchive.  Throws Error(kInput) for an archive that cannot be opened.
std::vector<SecurityFinding> scan_security(const ModelFile& file, const FileInfo& info);

// Returns whether torch.load(weights_only=True), or torch.jit.load, takes this global of a pickle; what they
// take makes tensors and plain values and runs no other code.
bool is_harmless_global(std::string_view name);

}  // namespace fxtrace
