// The parser of TorchScript code, with the grammar of LibTorch's parser, as far as any version of PyTorch
// writes it into archives: not `break`, comprehensions, early returns and more (kUnwritten), which are
// refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "torchscript/language/tree.h"

namespace fxtrace::internal::torchscript {

struct ParsedFile {
  std::vector<const Tree*> definitions;  // kDefinition and kClass, in order
  std::optional<std::int64_t> version;   // from "op_version_set = 1"
};

// Parses a code file of an archive: imports, functions and classes.  Throws Error(kInput) with the position
// of a syntax error, and for code nested deeper than kMaxLevels.
ParsedFile parse_code(SyntaxFile& file);

// Parses one expression, such as a type.
const Tree& parse_expression(SyntaxFile& file);

// Throws Error(kInput) for a function of the language that no version of PyTorch writes: enumerate(), zip().
void refuse_unwritten_function(const SourceRange& range, std::string_view name);

inline constexpr int kMaxLevels = 250;

}  // namespace fxtrace::internal::torchscript
