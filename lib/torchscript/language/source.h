// The text of a code file, positions in it, and its tokens.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/error.h"

namespace fxtrace::internal::torchscript {

// The text of a code file, and positions in it.

class SourceText {
 public:
  SourceText(std::string name, std::string text);
  SourceText(const SourceText&) = delete;
  SourceText& operator=(const SourceText&) = delete;

  const std::string& name() const { return name_; }  // "code/__torch__/nets.py"
  std::string_view text() const { return text_; }
  // Lines are counted from 1, columns from 0, as in Python.
  std::size_t line_of(std::size_t offset) const;
  std::size_t column_of(std::size_t offset) const;
  std::string_view line(std::size_t number) const;  // without the newline

 private:
  std::string name_, text_;
  mutable std::vector<std::uint32_t> line_starts_;  // built on first use
};

// A range of bytes of a file.  The text must outlive all ranges: ranges are for syntax trees and graphs,
// which their program owns with all of its texts.  What outlives a program has a SourcePlace.
struct SourceRange {
  const SourceText* source = nullptr;
  std::uint32_t begin = 0, end = 0;

  bool is_known() const { return source != nullptr; }
};

// A position in a file, by its name.
struct SourcePlace {
  std::string file;  // SourceText::name(); empty when unknown
  std::uint32_t offset = 0;

  SourcePlace() = default;
  SourcePlace(const SourceRange& range)  // NOLINT: implicit on purpose, it is where the range begins
      : file(range.is_known() ? range.source->name() : ""), offset(range.begin) {}
};

// Thrown for code that cannot be parsed or compiled: an Error(kInput) whose text ends with an excerpt:
//     x = torch.foo(y)
//         ~~~~~~~~~ <--- HERE
// It has its position as values, as it may outlive the text: that of a file that cannot be parsed is freed.
class SourceError : public Error {
 public:
  SourceError(const SourceRange& range, const std::string& message);

  const SourcePlace& where() const { return where_; }
  const std::string& message() const { return message_; }

 private:
  SourcePlace where_;
  std::string message_;
};

// The lexer of TorchScript code: tokens of Python, as in LibTorch's lexer.

enum class TokenKind : std::uint8_t {
  kEnd,
  kNewline,
  kIndent,
  kDedent,
  kNumber,
  kString,
  kIdentifier,
  // keywords
  kAnd,
  kAs,
  kAssert,
  kBreak,
  kClass,
  kContinue,
  kDef,
  kDel,
  kElif,
  kElse,
  kEllipsis,
  kFalse,
  kFor,
  kGlobal,
  kIf,
  kImport,
  kIn,
  kIs,
  kIsNot,
  kNone,
  kNoneType,
  kNot,
  kNotIn,
  kOr,
  kPass,
  kRaise,
  kReturn,
  kTrue,
  kWhile,
  kWith,
  // operators and delimiters
  kAmpersand,
  kAmpersandAssign,
  kArrow,
  kAssign,
  kAt,
  kBar,
  kBarAssign,
  kCaret,
  kCaretAssign,
  kColon,
  kComma,
  kDot,
  kEqual,
  kGreater,
  kGreaterEqual,
  kLeftBrace,
  kLeftBracket,
  kLeftParenthesis,
  kLess,
  kLessEqual,
  kMinus,
  kMinusAssign,
  kNotEqual,
  kPercent,
  kPercentAssign,
  kPlus,
  kPlusAssign,
  kPower,
  kPowerAssign,
  kRightBrace,
  kRightBracket,
  kRightParenthesis,
  kShiftLeft,
  kShiftLeftAssign,
  kShiftRight,
  kShiftRightAssign,
  kSlash,
  kSlashAssign,
  kSlashSlash,
  kStar,
  kStarAssign,
  kTilde,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::uint32_t begin = 0, end = 0;
};

// Returns all tokens of the file; the last one is kEnd.  Throws Error(kInput).
std::vector<Token> tokenize(const SourceText& source);

// Describes a token for messages: "'in'", "a name".
std::string_view to_text(TokenKind kind);

}  // namespace fxtrace::internal::torchscript
