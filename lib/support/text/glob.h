// Globs over dotted names ("torch.nn.modules.linear.Linear", "encoder.layers.3").
//
//   *       any characters within one dotted part, none included
//   **      any characters, dots included; as a whole part ("a.**.b", "**.b") it also stands for no part
//   ?       one character, not a dot
//   [abc]   one character of the set, ranges allowed; [!abc] one that is not in it; never a dot
//
// Everything else stands for itself; a special character stands for itself in a set: [*].  Matching simulates
// an automaton with bit sets, without backtracking: it takes time proportional to the length of the text
// times that of the pattern / 64, and none where the text lacks a literal part of the pattern.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fxtrace::internal {

class Glob {
 public:
  // Throws Error(kUsage), which gives the position of a syntax error in characters from 1.  When the glob is
  // a part of a longer text, `whole` is that text, to be shown in the error, and `offset` the glob's start in
  // it.
  explicit Glob(std::string_view pattern) : Glob(pattern, pattern, 0) {}
  Glob(std::string_view pattern, std::string_view whole, std::size_t offset);

  // Returns whether the whole `text` (UTF-8) matches.
  bool matches(std::string_view text) const;
  // The literal prefix of all matching texts.
  const std::string& prefix() const { return prefix_; }

 private:
  struct Range {
    char32_t first, last;
  };
  struct Token {
    enum class Kind {
      kLiteral,   // one character
      kSet,       // one character in (or not in) ranges; "?" is the negated empty set
      kStar,      // any number of characters but dots
      kAnyStar,   // any number of characters
      kOptional,  // matches the empty text; allows to skip the "**." that follows
    };
    Kind kind;
    char32_t literal = 0;
    bool negated = false;
    std::vector<Range> ranges = {};

    bool accepts(char32_t c) const;
    bool is_star() const { return kind == Kind::kStar || kind == Kind::kAnyStar; }
  };
  using Bits = std::vector<std::uint64_t>;

  // Builds the tables on first use: most globs never need more than their literal parts.
  void build_tables() const;
  // Notes literal text between special characters, which is in every match.
  void note_literal(std::string_view text);
  // Returns whether the text has the literal parts of every match.
  bool may_match(std::string_view text) const;
  // Returns the tokens of a word of states that accept the character.
  std::uint64_t mask_word(char32_t c, std::size_t word) const;
  bool matches_in_a_word(std::string_view text) const;
  // Adds the states reachable without a character (epsilon closure).
  void close(Bits& states) const;

  std::vector<Token> tokens_;
  std::string prefix_;         // the literal start of every match
  std::string suffix_;         // its literal end
  std::string longest_;        // the longest literal text before its end
  bool only_literal_ = false;  // the glob is nothing but the prefix
  mutable Bits masks_;         // for each ASCII character, words_ words: the tokens that accept it
  mutable Bits stars_, optionals_;
  mutable std::size_t words_ = 0;  // 0 until the tables are built
};

// Patterns that users type for module types, module paths or operators: a glob, or the last part of a name.

// A text without a dot or a star that matches no name means the names that end in it: "Linear" is
// torch.nn.modules.linear.Linear, "mlp" is encoder.mlp. settle() decides which, as it takes all names into
// account.
class NamePattern {
 public:
  // Throws as the constructors of Glob do.
  explicit NamePattern(std::string_view text) : NamePattern(text, text, 0) {}
  NamePattern(std::string_view text, std::string_view whole, std::size_t offset)
      : text_(text), glob_(text, whole, offset) {}

  const std::string& text() const { return text_; }
  const Glob& glob() const { return glob_; }
  bool is_bare() const { return text_.find_first_of(".*") == std::string::npos; }
  bool is_last_part() const { return is_last_part_; }  // settle() has decided so

  bool matches(std::string_view name) const { return glob_.matches(name); }

  // Decides whether the text means names that end in it. any() returns whether matches() holds for any name.
  // Returns the final result of any(), and reports (-v) when it is by the last part.
  template <class Any>
  bool settle(const Any& any) {
    if (any()) return true;
    if (!is_bare() || is_last_part_) return false;
    Glob whole = std::exchange(glob_, Glob("**." + text_));
    is_last_part_ = true;
    if (any()) {
      report_last_part();
      return true;
    }
    glob_ = std::move(whole);
    is_last_part_ = false;
    return false;
  }

 private:
  void report_last_part() const;

  std::string text_;
  Glob glob_;
  bool is_last_part_ = false;
};

}  // namespace fxtrace::internal
