#include "archive/security_finding.h"

#include <array>

namespace fxtrace::internal {

const char* to_string(SecurityKind kind) {
  constexpr std::array<const char*, kSecurityKinds> kNames = {"pickle", "code",    "path",
                                                              "size",   "unknown", "library"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace fxtrace::internal
