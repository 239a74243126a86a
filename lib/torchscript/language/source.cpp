#include "torchscript/language/source.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "support/text/identifier.h"
#include "support/text/unicode.h"

namespace fxtrace::internal::torchscript {

SourceText::SourceText(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {
  if (text_.size() >= UINT32_MAX) throw input_error("a code file is larger than 4 GB").at(name_);
}

std::size_t SourceText::line_of(std::size_t offset) const {
  if (line_starts_.empty()) {
    line_starts_.push_back(0);
    for (std::size_t i = 0; i < text_.size(); ++i) {
      if (text_[i] == '\n') line_starts_.push_back(static_cast<std::uint32_t>(i + 1));
    }
  }
  return static_cast<std::size_t>(
      std::upper_bound(line_starts_.begin(), line_starts_.end(), static_cast<std::uint32_t>(offset)) -
      line_starts_.begin());
}

std::size_t SourceText::column_of(std::size_t offset) const {
  return offset - line_starts_.at(line_of(offset) - 1);
}

std::string_view SourceText::line(std::size_t number) const {
  line_of(0);
  const std::size_t begin = line_starts_.at(number - 1);
  return text().substr(begin, std::min(text_.find('\n', begin), text_.size()) - begin);
}

namespace {

std::string with_excerpt(const SourceRange& range, const std::string& message) {
  if (!range.is_known()) return message;
  constexpr std::size_t kMaxLine = 160;
  const std::size_t number = range.source->line_of(range.begin);
  const std::size_t column = range.source->column_of(range.begin);
  const std::string_view line = range.source->line(number);
  if (line.size() > kMaxLine) return message;
  const std::size_t marked = std::min<std::size_t>(std::max<std::size_t>(range.end - range.begin, 1),
                                                   std::max<std::size_t>(line.size() - column, 1));
  return message + "\n    " + printable(line) + "\n    " + std::string(column, ' ') +
         std::string(marked, '~') + " <--- HERE";
}

}  // namespace

SourceError::SourceError(const SourceRange& range, const std::string& message)
    : Error(ErrorKind::kInput, with_excerpt(range, message)), where_(range), message_(message) {
  if (range.is_known()) at(range.source->name() + ":" + std::to_string(range.source->line_of(range.begin)));
}

// The tokens are those of PyTorch's torch/csrc/jit/frontend/lexer.h (BSD-3-Clause, see NOTICE).

namespace {

struct Word {
  std::string_view text;
  TokenKind kind;
};

constexpr std::array kWords{
    Word{"Ellipsis", TokenKind::kEllipsis},
    Word{"False", TokenKind::kFalse},
    Word{"None", TokenKind::kNone},
    Word{"NoneType", TokenKind::kNoneType},
    Word{"True", TokenKind::kTrue},
    Word{"and", TokenKind::kAnd},
    Word{"as", TokenKind::kAs},
    Word{"assert", TokenKind::kAssert},
    Word{"break", TokenKind::kBreak},
    Word{"class", TokenKind::kClass},
    Word{"continue", TokenKind::kContinue},
    Word{"def", TokenKind::kDef},
    Word{"del", TokenKind::kDel},
    Word{"elif", TokenKind::kElif},
    Word{"else", TokenKind::kElse},
    Word{"for", TokenKind::kFor},
    Word{"global", TokenKind::kGlobal},
    Word{"if", TokenKind::kIf},
    Word{"import", TokenKind::kImport},
    Word{"in", TokenKind::kIn},
    Word{"is", TokenKind::kIs},
    Word{"not", TokenKind::kNot},
    Word{"or", TokenKind::kOr},
    Word{"pass", TokenKind::kPass},
    Word{"raise", TokenKind::kRaise},
    Word{"return", TokenKind::kReturn},
    Word{"while", TokenKind::kWhile},
    Word{"with", TokenKind::kWith},
};

// Sorted by first character; a sign stands before the signs that are its prefixes.
constexpr std::array kSigns{
    Word{"!=", TokenKind::kNotEqual},
    Word{"%=", TokenKind::kPercentAssign},
    Word{"%", TokenKind::kPercent},
    Word{"&=", TokenKind::kAmpersandAssign},
    Word{"&", TokenKind::kAmpersand},
    Word{"(", TokenKind::kLeftParenthesis},
    Word{")", TokenKind::kRightParenthesis},
    Word{"**=", TokenKind::kPowerAssign},
    Word{"*=", TokenKind::kStarAssign},
    Word{"**", TokenKind::kPower},
    Word{"*", TokenKind::kStar},
    Word{"+=", TokenKind::kPlusAssign},
    Word{"+", TokenKind::kPlus},
    Word{",", TokenKind::kComma},
    Word{"->", TokenKind::kArrow},
    Word{"-=", TokenKind::kMinusAssign},
    Word{"-", TokenKind::kMinus},
    Word{"...", TokenKind::kEllipsis},
    Word{".", TokenKind::kDot},
    Word{"//", TokenKind::kSlashSlash},
    Word{"/=", TokenKind::kSlashAssign},
    Word{"/", TokenKind::kSlash},
    Word{":", TokenKind::kColon},
    Word{"<<=", TokenKind::kShiftLeftAssign},
    Word{"<=", TokenKind::kLessEqual},
    Word{"<<", TokenKind::kShiftLeft},
    Word{"<", TokenKind::kLess},
    Word{"==", TokenKind::kEqual},
    Word{"=", TokenKind::kAssign},
    Word{">>=", TokenKind::kShiftRightAssign},
    Word{">=", TokenKind::kGreaterEqual},
    Word{">>", TokenKind::kShiftRight},
    Word{">", TokenKind::kGreater},
    Word{"@", TokenKind::kAt},
    Word{"[", TokenKind::kLeftBracket},
    Word{"]", TokenKind::kRightBracket},
    Word{"^=", TokenKind::kCaretAssign},
    Word{"^", TokenKind::kCaret},
    Word{"{", TokenKind::kLeftBrace},
    Word{"|=", TokenKind::kBarAssign},
    Word{"|", TokenKind::kBar},
    Word{"}", TokenKind::kRightBrace},
    Word{"~", TokenKind::kTilde},
};

// Index by character of the first sign that starts with it.
constexpr auto kFirstSigns = [] {
  std::array<std::size_t, 128> first{};
  for (std::size_t c = 0; c < first.size(); ++c) {
    first[c] = kSigns.size();
    for (std::size_t i = kSigns.size(); i-- > 0;) {
      if (kSigns[i].text[0] == static_cast<char>(c)) first[c] = i;
    }
  }
  return first;
}();

class Lexer {
 public:
  explicit Lexer(const SourceText& source) : source_(source), text_(source.text()) {
    tokens_.reserve(text_.size() / 4);
  }

  std::vector<Token> run() {
    indents_.push_back(static_cast<std::uint32_t>(skip_to_code()));
    while (at_ < text_.size()) step();
    // As in LibTorch, a last line without a newline does not end, and neither do the blocks that it is in.
    if (has_last_newline_) end_line(indents_.front());
    add(TokenKind::kEnd, at_, at_);
    return std::move(tokens_);
  }

 private:
  void step() {
    const char c = text_[at_];
    if (is_blank(c)) {
      ++at_;
    } else if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == '\\' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n') {
      at_ += 2;
    } else if (c == '\n') {
      if (nesting_ > 0) {
        ++at_;
      } else {
        const std::size_t indent = skip_to_code();
        has_last_newline_ = at_ == text_.size();
        if (!has_last_newline_) end_line(static_cast<std::uint32_t>(indent));
      }
    } else {
      token(c);
    }
  }

  static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

  // Skips lines without code and returns the indentation of the next line.
  std::size_t skip_to_code() {
    std::size_t line = at_;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        line = ++at_;
      } else if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (is_blank(c)) {
        ++at_;
      } else {
        break;
      }
    }
    return at_ - line;
  }

  void end_line(std::uint32_t indent) {
    if (indent > indents_.back()) {
      indents_.push_back(indent);
      add(TokenKind::kIndent, at_, at_);
      return;
    }
    if (!tokens_.empty()) add(TokenKind::kNewline, at_, at_);
    while (indents_.back() != indent) {
      indents_.pop_back();
      if (indents_.empty()) fail("invalid indent level");
      add(TokenKind::kDedent, at_, at_);
      if (indents_.back() < indent) fail("invalid indent level");
    }
  }

  void token(char c) {
    const bool point = c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]);
    if (is_digit(c) || point) return number();
    if (c == '"' || c == '\'') return string();
    if (is_letter(c)) return word();
    const std::string_view rest = text_.substr(at_);
    const auto byte = static_cast<unsigned char>(c);
    for (std::size_t i = byte < kFirstSigns.size() ? kFirstSigns[byte] : kSigns.size(); i < kSigns.size();
         ++i) {
      const Word& sign = kSigns[i];
      if (!rest.starts_with(sign.text)) continue;
      switch (c) {
        case '(':
        case '[':
        case '{':
          ++nesting_;
          break;
        case ')':
        case ']':
        case '}':
          --nesting_;
          break;
        default:
          break;
      }
      return add(sign.kind, at_, at_ + sign.text.size());
    }
    fail("expected a valid token");
  }

  void number() {
    std::size_t end = at_;
    const auto digits = [&] {
      while (end < text_.size() && is_digit(text_[end])) ++end;
    };
    if (text_[end] == '0' && end + 2 < text_.size() && (text_[end + 1] == 'x' || text_[end + 1] == 'X') &&
        is_hex(text_[end + 2])) {
      end += 2;
      while (end < text_.size() && is_hex(text_[end])) ++end;
      return add(TokenKind::kNumber, at_, end);
    }
    digits();
    if (end < text_.size() && text_[end] == '.') {
      ++end;
      digits();
    }
    if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
      std::size_t exponent = end + 1;
      if (exponent < text_.size() && (text_[exponent] == '+' || text_[exponent] == '-')) ++exponent;
      if (exponent < text_.size() && is_digit(text_[exponent])) {
        end = exponent;
        digits();
      }
    }
    if (end < text_.size() && text_[end] == 'j') ++end;
    add(TokenKind::kNumber, at_, end);
  }

  static bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

  void string() {
    const char quote = text_[at_];
    const std::string_view three = quote == '"' ? R"(""")" : "'''";
    const std::string_view close = text_.substr(at_).starts_with(three) ? three : three.substr(0, 1);
    std::size_t end = at_ + close.size();
    while (end < text_.size() && !text_.substr(end).starts_with(close)) {
      if (text_[end] == '\n' && close.size() == 1) fail("unterminated string");
      end += text_[end] == '\\' ? 2 : 1;
    }
    if (end >= text_.size()) fail("unterminated string");
    add(TokenKind::kString, at_, end + close.size());
  }

  void word() {
    std::size_t end = at_;
    while (end < text_.size() && is_word(text_[end])) ++end;
    const std::string_view text = text_.substr(at_, end - at_);
    const auto found = std::lower_bound(kWords.begin(), kWords.end(), text,
                                        [](const Word& a, std::string_view b) { return a.text < b; });
    TokenKind kind = found != kWords.end() && found->text == text ? found->kind : TokenKind::kIdentifier;
    if (kind == TokenKind::kIs && follows(end, " not")) {
      kind = TokenKind::kIsNot;
      end += 4;
    } else if (kind == TokenKind::kNot && follows(end, " in")) {
      kind = TokenKind::kNotIn;
      end += 3;
    }
    add(kind, at_, end);
  }

  bool follows(std::size_t at, std::string_view text) const {
    const std::size_t end = at + text.size();
    return text_.substr(at).starts_with(text) && (end == text_.size() || !is_word(text_[end]));
  }

  void add(TokenKind kind, std::size_t begin, std::size_t end) {
    tokens_.push_back({kind, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)});
    at_ = end;
  }

  [[noreturn]] void fail(const char* message) const {
    const auto at = static_cast<std::uint32_t>(std::min(at_, text_.empty() ? 0 : text_.size() - 1));
    throw SourceError({&source_, at, at}, message);
  }

  const SourceText& source_;
  std::string_view text_;
  std::size_t at_ = 0;
  int nesting_ = 0;
  bool has_last_newline_ = false;  // outside of brackets, with no code behind it
  std::vector<std::uint32_t> indents_;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(const SourceText& source) { return Lexer(source).run(); }

std::string_view to_text(TokenKind kind) {
  for (const Word& word : kWords) {
    if (word.kind == kind) return word.text;
  }
  for (const Word& sign : kSigns) {
    if (sign.kind == kind) return sign.text;
  }
  switch (kind) {
    case TokenKind::kNewline:
      return "newline";
    case TokenKind::kIndent:
      return "indent";
    case TokenKind::kDedent:
      return "dedent";
    case TokenKind::kNumber:
      return "number";
    case TokenKind::kString:
      return "string";
    case TokenKind::kIdentifier:
      return "ident";
    case TokenKind::kIsNot:
      return "is not";
    case TokenKind::kNotIn:
      return "not in";
    default:
      return "eof";
  }
}

}  // namespace fxtrace::internal::torchscript
