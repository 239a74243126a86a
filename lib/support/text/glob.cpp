#include "support/text/glob.h"

#include <algorithm>
#include <optional>

#include "support/error.h"
#include "support/log.h"
#include "support/text/did_you_mean.h"
#include "support/text/numbers.h"

namespace fxtrace::internal {
namespace {

constexpr char32_t kAscii = 128;
constexpr std::size_t kBits = 64;  // states of a word

// Reads one character of UTF-8.  A malformed byte is a character of its own, outside of Unicode.
char32_t next_character(std::string_view text, std::size_t& at) {
  const auto byte = static_cast<unsigned char>(text[at++]);
  if (byte < 0x80) return byte;
  int more = 0;
  char32_t c = 0;
  if ((byte & 0xE0) == 0xC0) {
    more = 1;
    c = byte & 0x1FU;
  } else if ((byte & 0xF0) == 0xE0) {
    more = 2;
    c = byte & 0x0FU;
  } else if ((byte & 0xF8) == 0xF0) {
    more = 3;
    c = byte & 0x07U;
  } else {
    return 0x110000U + byte;
  }
  std::size_t end = at;
  for (int i = 0; i < more; ++i, ++end) {
    if (end >= text.size() || (static_cast<unsigned char>(text[end]) & 0xC0) != 0x80) return 0x110000U + byte;
    c = (c << 6) | (static_cast<unsigned char>(text[end]) & 0x3FU);
  }
  at = end;
  return c;
}

bool is_special(char32_t c) { return c == '*' || c == '?' || c == '['; }

}  // namespace

Glob::Glob(std::string_view pattern, std::string_view whole, std::size_t offset) {
  const auto fail = [&](std::size_t byte, const std::string& what) {
    const std::string_view before = whole.substr(0, std::min(whole.size(), offset + byte));
    throw usage_error("invalid glob '" + std::string(whole) + "' at position " +
                      std::to_string(width(before) + 1) + ": " + what);
  };
  if (pattern.empty()) fail(0, "the glob is empty");

  std::size_t at = 0;
  std::size_t literal = 0;  // the start of the literal text that is being read
  while (at < pattern.size()) {
    const std::size_t start = at;
    const char32_t c = next_character(pattern, at);
    if (is_special(c)) note_literal(pattern.substr(literal, start - literal));
    bool is_optional = false;
    if (c == '*') {
      Token token{Token::Kind::kStar};
      if (at < pattern.size() && pattern[at] == '*') {
        ++at;
        token.kind = Token::Kind::kAnyStar;
        if (at < pattern.size() && pattern[at] == '*') fail(at, "'***' has no meaning; use '*' or '**'");
        is_optional = (start == 0 || pattern[start - 1] == '.') && at < pattern.size() && pattern[at] == '.';
        if (is_optional) {
          // "**.**." is equivalent to "**.".
          while (pattern.substr(at, 4) == ".**.") at += 3;
          tokens_.push_back({Token::Kind::kOptional});
        }
      }
      tokens_.push_back(std::move(token));
    } else if (c == '?') {
      Token token{Token::Kind::kSet};
      token.negated = true;
      tokens_.push_back(std::move(token));
    } else if (c == '[') {
      Token token{Token::Kind::kSet};
      if (at < pattern.size() && pattern[at] == '!') {
        token.negated = true;
        ++at;
      }
      bool closed = false;
      while (at < pattern.size() && !closed) {
        const std::size_t item = at;
        const char32_t first = next_character(pattern, at);
        if (first == ']') {
          if (token.ranges.empty()) fail(start, "empty set");
          closed = true;
        } else if (at + 1 < pattern.size() && pattern[at] == '-' && pattern[at + 1] != ']') {
          ++at;
          const char32_t last = next_character(pattern, at);
          if (last < first) fail(item, "the range is reversed");
          token.ranges.push_back({first, last});
        } else {
          token.ranges.push_back({first, first});
        }
      }
      if (!closed) fail(start, "missing ']'");
      tokens_.push_back(std::move(token));
    } else {
      tokens_.push_back({Token::Kind::kLiteral, c});
    }
    // The dot behind an optional part is left out with it.
    if (is_special(c)) literal = at + (is_optional ? 1 : 0);
  }
  suffix_ = pattern.substr(literal);

  std::size_t prefix_end = 0;
  only_literal_ = true;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (is_special(static_cast<unsigned char>(pattern[i]))) {
      only_literal_ = false;
      break;
    }
    prefix_end = i + 1;
  }
  prefix_ = pattern.substr(0, prefix_end);
  // The text before an optional part is in every match: "a.**.b" matches "a.b", and "**.b" matches "b".
  if (only_literal_) tokens_ = {};
}

bool Glob::Token::accepts(char32_t c) const {
  switch (kind) {
    case Kind::kLiteral:
      return c == literal;
    case Kind::kSet:
      if (c == '.') return false;
      return negated != std::any_of(ranges.begin(), ranges.end(),
                                    [c](const Range& range) { return range.first <= c && c <= range.last; });
    case Kind::kStar:
      return c != '.';
    case Kind::kAnyStar:
      return true;
    case Kind::kOptional:
      return false;
  }
  return false;
}

// State i means that the first i tokens have matched what was read; one bit per state, and one for the end.
void Glob::build_tables() const {
  words_ = tokens_.size() / kBits + 1;
  stars_.assign(words_, 0);
  optionals_.assign(words_, 0);
  masks_.assign(kAscii * words_, 0);
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const std::uint64_t bit = std::uint64_t{1} << (i % kBits);
    if (tokens_[i].is_star()) stars_[i / kBits] |= bit;
    if (tokens_[i].kind == Token::Kind::kOptional) optionals_[i / kBits] |= bit;
    for (char32_t c = 0; c < kAscii; ++c) {
      if (tokens_[i].accepts(c)) masks_[c * words_ + i / kBits] |= bit;
    }
  }
}

void Glob::close(Bits& states) const {
  // An optional part is entered (one token on) or left out (the token itself, "**" and the dot: three on). It
  // is never reached from a star, and stars never stand side by side, so one round of each is enough.
  std::uint64_t enter_carry = 0;
  std::uint64_t skip_carry = 0;
  for (std::size_t w = 0; w < words_; ++w) {
    const std::uint64_t from = states[w] & optionals_[w];
    states[w] |= (from << 1) | enter_carry | (from << 3) | skip_carry;
    enter_carry = from >> 63;
    skip_carry = from >> 61;
  }
  std::uint64_t star_carry = 0;
  for (std::size_t w = 0; w < words_; ++w) {
    const std::uint64_t from = states[w] & stars_[w];
    states[w] |= (from << 1) | star_carry;
    star_carry = from >> 63;
  }
}

void Glob::note_literal(std::string_view text) {
  if (text.size() > longest_.size()) longest_ = text;
}

bool Glob::may_match(std::string_view text) const {
  return text.starts_with(prefix_) && text.ends_with(suffix_) &&
         (longest_.empty() || text.find(longest_) != std::string_view::npos);
}

std::uint64_t Glob::mask_word(char32_t c, std::size_t word) const {
  if (c < kAscii) return masks_[c * words_ + word];
  std::uint64_t mask = 0;
  const std::size_t end = std::min(tokens_.size(), (word + 1) * kBits);
  for (std::size_t i = word * kBits; i < end; ++i) {
    if (tokens_[i].accepts(c)) mask |= std::uint64_t{1} << (i % kBits);
  }
  return mask;
}

// As matches(), for globs whose states are one word, which nearly all are.
bool Glob::matches_in_a_word(std::string_view text) const {
  const std::uint64_t stars = stars_.front();
  const std::uint64_t optionals = optionals_.front();
  const auto closed = [&](std::uint64_t states) {
    const std::uint64_t from = states & optionals;
    states |= (from << 1) | (from << 3);
    return states | ((states & stars) << 1);
  };
  std::uint64_t states = closed(1);
  for (std::size_t at = 0; at < text.size() && states != 0;) {
    const std::uint64_t read = states & mask_word(next_character(text, at), 0);
    states = closed(((read & ~stars) << 1) | (read & stars));
  }
  return ((states >> tokens_.size()) & 1) != 0;
}

bool Glob::matches(std::string_view text) const {
  if (only_literal_) return text == prefix_;
  if (!may_match(text)) return false;
  if (words_ == 0) build_tables();
  if (words_ == 1) return matches_in_a_word(text);

  Bits states(words_, 0);
  states[0] = 1;
  close(states);
  std::size_t at = 0;
  while (at < text.size()) {
    const char32_t c = next_character(text, at);
    std::uint64_t carry = 0;
    std::uint64_t any = 0;
    for (std::size_t w = 0; w < words_; ++w) {
      const std::uint64_t read = states[w] & mask_word(c, w);
      // A star stays where it is; everything else goes on by one token.
      const std::uint64_t moved = read & ~stars_[w];
      states[w] = (moved << 1) | carry | (read & stars_[w]);
      carry = moved >> 63;
      any |= states[w];
    }
    if (any == 0) return false;
    close(states);
  }
  return ((states[tokens_.size() / kBits] >> (tokens_.size() % kBits)) & 1) != 0;
}

void NamePattern::report_last_part() const {
  log::info(shell_quoted(text_) + " matches no whole name: it means names that end in it, as '**." + text_ +
            "' does");
}

}  // namespace fxtrace::internal
