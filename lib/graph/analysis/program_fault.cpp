#include "graph/analysis/program_fault.h"

#include <array>

namespace fxtrace::internal {

const char* to_string(ProgramFaultKind kind) {
  constexpr std::array<const char*, kProgramFaultKinds> kNames = {"form", "signature", "record",
                                                                  "meta", "call",      "module"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace fxtrace::internal
