// What a file would have its reader do, as lib/security finds it and the rules of `check --security` judge
// it.
#pragma once

#include <cstddef>
#include <string>

namespace fxtrace {

enum class SecurityKind {
  kPickle,   // a pickle that does what torch.load(weights_only=True) refuses
  kCode,     // machine code, code of Python, operators that reach beyond tensors
  kPath,     // a name that leads out of the folder that it is to be in
  kSize,     // sizes and places that do not fit together, and what grows beyond measure
  kUnknown,  // what is not recognised: nothing is known of what a reader does with it
  kLibrary,  // operators and classes that a library has to register before
};
inline constexpr std::size_t kSecurityKinds = 6;
const char* to_string(SecurityKind kind);  // "pickle"

struct SecurityFinding {
  SecurityKind kind = SecurityKind::kPickle;
  std::string record;   // of the archive; "a.pt/data.pkl" of an archive in it; empty: the file itself
  std::string subject;  // of a pickle what it calls, of code the operator, of a library that or the class
  std::string message;  // for people, without the record; text of the file in it is not escaped
};

}  // namespace fxtrace
