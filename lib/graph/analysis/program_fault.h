// What is wrong with the file of an exported program, as lib/exported finds it and the rules of
// `check --program` judge it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "graph/node.h"

namespace fxtrace {

enum class ProgramFaultKind {
  kForm,       // it cannot be read as a program: names defined twice or used before, unknown forms
  kSignature,  // what the program takes, gives and changes, and how that is nested
  kRecord,     // the weights and constants in the archive
  kMeta,       // what is said of values: types, sizes, ranges
  kCall,       // arguments and results of operators
  kModule,     // the modules whose calls made the operations
};
inline constexpr std::size_t kProgramFaultKinds = 6;
const char* to_string(ProgramFaultKind kind);  // "form"

struct ProgramFault {
  ProgramFaultKind kind = ProgramFaultKind::kForm;
  std::string message;       // for people, without the place; text of the file in it is not escaped
  std::string subject = {};  // the operator, the tensor
  std::string module = {};   // path
  std::optional<std::string> node = {};    // or value
  std::string graph = {};                  // ":" and the bodies that the node is in; empty: the program's own
  std::optional<std::string> record = {};  // of the archive, instead of a module
  std::optional<SourceLocation> source = {};
};

}  // namespace fxtrace
