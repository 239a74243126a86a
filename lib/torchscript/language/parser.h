// Syntax trees of TorchScript code, and their parser.
#pragma once

#include <cstdint>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "torchscript/language/source.h"

namespace fxtrace::internal::torchscript {

// Syntax trees of TorchScript code.  Trees live in the arena of their file, and their texts in its source.

// The kind of a tree, with its parts in the comment; "list" is a tree of kind kList.
enum class Syntax : std::uint8_t {
  kAbsent,  // an optional part that was left out
  kList,
  // expressions
  kName,           // text
  kNumber,         // text, with its sign
  kStringLiteral,  // text, without quotes and escapes
  kTrue,
  kFalse,
  kNone,
  kEllipsis,
  kTuple,
  kListLiteral,  // the items
  kDictLiteral,  // list of keys, list of values
  kAttribute,    // value; text: the attribute's name
  kCall,         // callee, list of arguments, list of kKeyword
  kKeyword,      // value; text: the name
  kSubscript,    // value, list of subscripts
  kSlice,        // start, end, step
  kUnary,
  kBinary,   // operands; the operator is `token`
  kStarred,  // value
  // statements
  kExpression,           // value
  kAssignment,           // list of targets, value, type
  kAugmentedAssignment,  // target, value; the operator is `token`
  kIf,                   // condition, list, list
  kWhile,                // condition, list
  kFor,                  // kName, number of turns, list
  kWith,                 // list of kWithItem, list
  kWithItem,             // value, name
  kReturn,               // value
  kDelete,               // the targets
  kPass,
  kGlobal,
  kDefinition,  // list of kParameter, result type, list; text: the name
  kParameter,   // type, default; text: the name; token kStar: keyword-only
  kClass,       // base, list; text: the name
};

struct Tree {
  Syntax kind = Syntax::kAbsent;
  TokenKind token = TokenKind::kEnd;
  std::uint16_t depth = 0;
  std::uint32_t count = 0;
  std::uint32_t begin = 0, end = 0;  // range in the source that LibTorch gives, as the parenthesis of a call
  std::string_view text;
  const Tree* const* parts = nullptr;

  bool is(Syntax wanted) const { return kind == wanted; }
  bool is_there() const { return kind != Syntax::kAbsent; }
  const Tree& part(std::size_t i) const { return *parts[i]; }
  std::span<const Tree* const> all() const { return {parts, count}; }
};

// A file with its text and its trees, which it owns.
class SyntaxFile {
 public:
  explicit SyntaxFile(std::unique_ptr<SourceText> source) : source_(std::move(source)) {}
  const SourceText& source() const { return *source_; }
  std::pmr::monotonic_buffer_resource& arena() { return arena_; }
  // The statements of a function are in an arena of their own, which is freed when the function is compiled.
  void keep_body(const Tree& definition, std::unique_ptr<std::pmr::monotonic_buffer_resource> arena) {
    bodies_[&definition] = std::move(arena);
  }
  void forget_body(const Tree& definition) { bodies_.erase(&definition); }
  SourceRange range(const Tree& tree) const { return {source_.get(), tree.begin, tree.end}; }

 private:
  std::unique_ptr<SourceText> source_;
  std::pmr::monotonic_buffer_resource arena_;
  std::unordered_map<const Tree*, std::unique_ptr<std::pmr::monotonic_buffer_resource>> bodies_;
};

// The parser of TorchScript code, with the grammar of LibTorch's parser, as far as any version of PyTorch
// writes it into archives: not `break`, comprehensions, early returns and more (kUnwritten), which are
// refused.

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
