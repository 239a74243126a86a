// The grammar of TorchScript code, as LibTorch's parser takes it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "script/tree.h"

namespace fxtrace::script {

struct ParsedFile {
  std::vector<const Tree*> definitions;  // kDefinition and kClass, in order
  std::optional<std::int64_t> version;   // of "op_version_set = 1"
};

// A code file of an archive: imports, functions and classes.  Throws Error(kInput) with the place of what
// cannot be read, and for code of more levels than kMaxLevels.
ParsedFile parse_code(SyntaxFile& file);

// One expression, such as a type.
const Tree& parse_expression(SyntaxFile& file);

inline constexpr int kMaxLevels = 250;

}  // namespace fxtrace::script
