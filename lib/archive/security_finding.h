// Security findings: what a file would make its reader do, as lib/security finds it and the rules of
// `check --security` judge it.
#pragma once

#include <cstddef>
#include <string>

namespace fxtrace::internal {

enum class SecurityKind {
  kPickle,   // a pickle that does what torch.load(weights_only=True) refuses
  kCode,     // machine code, Python code, operators that reach beyond tensors
  kPath,     // a name that leads out of its folder
  kSize,     // sizes and offsets that do not fit together, and records that unpack to far more bytes
  kUnknown,  // a record that is not recognised, so that it is not known what a reader does with it
  kLibrary,  // operators and classes that a library must have registered
};
inline constexpr std::size_t kSecurityKinds = 6;
const char* to_string(SecurityKind kind);  // "pickle"

struct SecurityFinding {
  SecurityKind kind = SecurityKind::kPickle;
  std::string
      record;  // its name, "a.pt/data.pkl" within an archive in the archive; empty for the file itself
  std::string subject;  // the callable of a pickle, the operator of code, the operator or class of a library
  std::string message;  // for people, without the record; text from the file is not escaped
};

}  // namespace fxtrace::internal
