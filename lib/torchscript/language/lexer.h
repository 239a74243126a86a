// The lexer of TorchScript code: tokens of Python, as in LibTorch's lexer.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "torchscript/language/source.h"

namespace fxtrace::internal::torchscript {

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
