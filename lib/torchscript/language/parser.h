// The parser of TorchScript code, with the grammar of LibTorch's parser.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "torchscript/language/tree.h"

namespace fxtrace::torchscript {

struct ParsedFile {
  std::vector<const Tree*> definitions;  // kDefinition and kClass, in order
  std::optional<std::int64_t> version;   // from "op_version_set = 1"
};

// Parses a code file of an archive: imports, functions and classes.  Throws Error(kInput) with the position
// of a syntax error, and for code nested deeper than kMaxLevels.
ParsedFile parse_code(SyntaxFile& file);

// Parses one expression, such as a type.
const Tree& parse_expression(SyntaxFile& file);

inline constexpr int kMaxLevels = 250;

}  // namespace fxtrace::torchscript
