// Faults in the file of an exported program: lib/exported finds them, and the rules of `check --program`
// judge them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "graph/node.h"

namespace fxtrace::internal {

enum class ProgramFaultKind {
  kForm,       // the form: names defined twice or used before their definition, unknown syntax
  kSignature,  // inputs, outputs and mutations, and how they are nested
  kRecord,     // the weights and constants in the archive
  kMeta,       // metadata of values: types, sizes, ranges
  kCall,       // arguments and results of operators
  kModule,     // the modules whose calls made the operations
};
inline constexpr std::size_t kProgramFaultKinds = 6;
const char* to_string(ProgramFaultKind kind);  // "form"

struct ProgramFault {
  ProgramFaultKind kind = ProgramFaultKind::kForm;
  std::string message;                   // for people, without the place; text from the file is not escaped
  std::string subject = {};              // the operator or tensor
  std::string module = {};               // the module's path
  std::optional<std::string> node = {};  // the node or value
  std::string graph = {};  // ":" and the bodies around the node; empty in the program's own graph
  std::optional<std::string> record = {};  // a record of the archive, instead of a module
  std::optional<SourceLocation> source = {};
};

}  // namespace fxtrace::internal
