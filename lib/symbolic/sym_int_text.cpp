// SymInt as a text, and back.
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <limits>
#include <utility>

#include "symbolic/checked.h"
#include "symbolic/polynomial.h"
#include "symbolic/sym_int.h"

namespace fxtrace {

using namespace symbolic;  // NOLINT: the same library

namespace {

void append_number(std::string& text, std::int64_t number) {
  std::array<char, 24> digits;
  text.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr);
}

// Without its sign; `minus` when one is written before it that is not between two terms.
void append_term(std::string& text, const Term& term, bool minus) {
  const std::int64_t number = std::abs(term.coefficient);
  if (term.atoms.empty()) return append_number(text, number);
  const bool alone = term.atoms.size() == 1 && number == 1 && !minus;
  for (std::size_t i = 0; i < term.atoms.size();) {
    const Atom& atom = *term.atoms[i];
    std::size_t power = 1;
    while (i + power < term.atoms.size() && same(term.atoms[i], term.atoms[i + power])) ++power;
    const bool quotient = atom.kind == AtomKind::kFloorDiv || atom.kind == AtomKind::kMod;
    if (i != 0) text += '*';
    // Python reads -n//2 as (-n)//2 and a*n//2 as (a*n)//2.
    const bool enclosed = quotient && !alone;
    if (enclosed) text += '(';
    text += atom.text;
    if (enclosed) text += ')';
    if (power > 1) append_number(text.append("**"), static_cast<std::int64_t>(power));
    i += power;
  }
  if (number != 1) append_number(text.append("*"), number);
}

constexpr std::size_t kMaxTextLength = 20000;
constexpr int kMaxTextDepth = 100;
constexpr std::int64_t kMaxPower = 64;

// A quotient of two SymInts, for sympy's floor(n/2).
struct Quotient {
  SymInt over;
  SymInt under = 1;

  bool whole() const { return under == SymInt(1); }
};

using Arguments = std::vector<Quotient>;

Quotient quotient(const Quotient& a, const Quotient& b) {
  if (b.over == SymInt(0)) throw SymbolicError("division by zero");
  return {a.over * b.under, a.under * b.over};
}
SymInt rounded_down(const Quotient& a) { return floordiv(a.over, a.under); }
SymInt rounded_up(const Quotient& a) { return -floordiv(-a.over, a.under); }
// Both sides in the same parts, for operators that know whole numbers only.
SymInt remainder(const SymInt& a, const SymInt& b) { return mod(a, b); }

Quotient power(const Quotient& base, const Quotient& exponent) {
  const auto times = exponent.whole() ? exponent.over.number() : std::nullopt;
  if (!times || *times < -1 || *times > kMaxPower) throw SymbolicError("not a power that can be written out");
  if (*times == -1) return quotient({1}, base);
  Quotient result{1};
  for (std::int64_t i = 0; i < *times; ++i) result = {result.over * base.over, result.under * base.under};
  return result;
}

struct Function {
  std::string_view name;
  std::size_t least, most;
  bool whole;  // takes integers only
  Quotient (*call)(const Arguments&);
};

Quotient smallest(const Arguments& values) {
  SymInt result = values.front().over;
  for (const Quotient& value : values) result = min(result, value.over);
  return {result};
}
Quotient largest(const Arguments& values) {
  SymInt result = values.front().over;
  for (const Quotient& value : values) result = max(result, value.over);
  return {result};
}
Quotient call_floordiv(const Arguments& values) { return {floordiv(values[0].over, values[1].over)}; }
Quotient call_ceildiv(const Arguments& values) { return {ceildiv(values[0].over, values[1].over)}; }
Quotient call_mod(const Arguments& values) { return {mod(values[0].over, values[1].over)}; }
Quotient call_divide(const Arguments& values) { return quotient(values[0], values[1]); }
Quotient call_power(const Arguments& values) { return power(values[0], values[1]); }
Quotient call_abs(const Arguments& values) { return {max(values[0].over, -values[0].over)}; }
Quotient call_floor(const Arguments& values) { return {rounded_down(values[0])}; }
Quotient call_ceil(const Arguments& values) { return {rounded_up(values[0])}; }
// Towards zero: one of the two is zero, or they are equal.
Quotient call_trunc(const Arguments& values) {
  if (values[0].whole()) return values[0];
  return {max(0, rounded_down(values[0])) + min(0, rounded_up(values[0]))};
}
Quotient call_same(const Arguments& values) { return values[0]; }
Quotient call_modular_indexing(const Arguments& values) {
  return {mod(floordiv(values[0].over, values[1].over), values[2].over)};
}

constexpr std::array<Function, 26> kFunctions{{
    {"Abs", 1, 1, true, call_abs},
    {"CeilDiv", 2, 2, true, call_ceildiv},
    {"CeilToInt", 1, 1, false, call_ceil},
    {"CleanDiv", 2, 2, true, call_floordiv},
    {"FloorDiv", 2, 2, true, call_floordiv},
    {"FloorToInt", 1, 1, false, call_floor},
    {"IntTrueDiv", 2, 2, true, call_divide},
    {"Max", 1, 100, true, largest},
    {"Min", 1, 100, true, smallest},
    {"Mod", 2, 2, true, call_mod},
    {"ModularIndexing", 3, 3, true, call_modular_indexing},
    {"PowByNatural", 2, 2, true, call_power},
    {"PythonMod", 2, 2, true, call_mod},
    {"ToFloat", 1, 1, true, call_same},
    {"TruncToInt", 1, 1, false, call_trunc},
    {"abs", 1, 1, true, call_abs},
    {"ceil", 1, 1, false, call_ceil},
    {"ceiling", 1, 1, false, call_ceil},
    {"float", 1, 1, true, call_same},
    {"floor", 1, 1, false, call_floor},
    {"int", 1, 1, false, call_trunc},
    {"math.ceil", 1, 1, false, call_ceil},
    {"math.floor", 1, 1, false, call_floor},
    {"math.trunc", 1, 1, false, call_trunc},
    {"max", 1, 100, true, largest},
    {"min", 1, 100, true, smallest},
}};

// Throws SymbolicError for everything that is not such an expression.
class SizeParser {
 public:
  explicit SizeParser(std::string_view text) : text_(text) {}

  SymInt whole() {
    const Quotient value = shift(0);
    skip_spaces();
    if (at_ != text_.size() || !value.whole()) fail();
    return value.over;
  }

 private:
  [[noreturn]] static void fail() { throw SymbolicError("not an expression of sizes"); }
  static const SymInt& integer(const Quotient& value) {
    if (!value.whole()) fail();
    return value.over;
  }

  void skip_spaces() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool take(std::string_view token) {
    skip_spaces();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  // `*` alone, not the start of `**`.
  bool take_single(char c) {
    skip_spaces();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    if (at_ + 1 < text_.size() && text_[at_ + 1] == c) return false;
    ++at_;
    return true;
  }

  Quotient shift(int depth) {
    if (depth > kMaxTextDepth) fail();
    Quotient left = sum(depth);
    for (;;) {
      const bool up = take("<<");
      if (!up && !take(">>")) return left;
      const SymInt factor = integer(power({2}, sum(depth)));
      left = {up ? integer(left) * factor : floordiv(integer(left), factor)};
    }
  }

  Quotient sum(int depth) {
    Quotient left = product(depth);
    for (;;) {
      const bool plus = take("+");
      if (!plus && !take("-")) return left;
      const Quotient right = product(depth);
      const SymInt a = left.over * right.under;
      const SymInt b = right.over * left.under;
      left = {plus ? a + b : a - b, left.under * right.under};
    }
  }

  Quotient product(int depth) {
    Quotient left = unary(depth);
    for (;;) {
      if (take("//")) {
        const Quotient by = quotient(left, unary(depth));
        left = {rounded_down(by)};
      } else if (take_single('/')) {
        left = quotient(left, unary(depth));
      } else if (take("%")) {
        const SymInt by = integer(unary(depth));
        left = {remainder(integer(left), by)};
      } else if (take_single('*')) {
        const Quotient right = unary(depth);
        left = {left.over * right.over, left.under * right.under};
      } else {
        return left;
      }
    }
  }

  Quotient unary(int depth) {
    int minus = 0;
    for (;; ++minus) {
      while (take("+")) {
      }
      if (!take("-")) break;
    }
    if (minus == 0) return powers(depth, false);
    const Quotient value = powers(depth, minus % 2 == 1);
    if (lowest_) {  // the one number that has no counterpart above zero
      lowest_ = false;
      return value;
    }
    return minus % 2 == 1 ? Quotient{-value.over, value.under} : value;
  }

  Quotient powers(int depth, bool negated) {
    if (depth > kMaxTextDepth) fail();
    const Quotient base = primary(depth, negated);
    if (lowest_ || !take("**")) return base;
    const Quotient exponent = unary(depth + 1);
    return power(base, exponent);
  }

  Quotient primary(int depth, bool negated) {
    skip_spaces();
    if (take("(")) {
      const Quotient inside = shift(depth + 1);
      if (!take(")")) fail();
      return inside;
    }
    const std::size_t start = at_;
    const auto is_word = [](char c) {
      return c == '_' || c == '.' || std::isalnum(static_cast<unsigned char>(c)) != 0;
    };
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    const std::string_view word = text_.substr(start, at_ - start);
    if (word.empty()) fail();
    if (std::isdigit(static_cast<unsigned char>(word.front())) != 0) return {number(word, negated)};
    if (is_keyword(word)) fail();
    if (!take("(")) return {SymInt::symbol(std::string(word))};
    Arguments arguments;
    while (!take(")")) {
      if (!arguments.empty() && !take(",")) fail();
      arguments.push_back(shift(depth + 1));
    }
    return call(word, arguments);
  }

  SymInt number(std::string_view digits, bool negated) {
    std::uint64_t value = 0;
    for (const char c : digits) {
      if (std::isdigit(static_cast<unsigned char>(c)) == 0) fail();
      if (__builtin_mul_overflow(value, std::uint64_t{10}, &value)) overflow();
      if (__builtin_add_overflow(value, static_cast<std::uint64_t>(c - '0'), &value)) overflow();
    }
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (value == kMost + 1 && negated) {
      lowest_ = true;
      return std::numeric_limits<std::int64_t>::min();
    }
    if (value > kMost) overflow();
    return static_cast<std::int64_t>(value);
  }

  static Quotient call(std::string_view name, const Arguments& arguments) {
    const auto* found = std::find_if(kFunctions.begin(), kFunctions.end(),
                                     [&](const Function& function) { return function.name == name; });
    if (found == kFunctions.end()) fail();
    if (arguments.size() < found->least || arguments.size() > found->most) fail();
    if (found->whole) {
      for (const Quotient& argument : arguments) integer(argument);
    }
    return found->call(arguments);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool lowest_ = false;  // -2**63 was just read, sign included
};

}  // namespace

bool symbolic::is_keyword(std::string_view word) {
  static constexpr std::array<std::string_view, 35> kKeywords{
      "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
      "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
      "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
      "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
  return std::ranges::binary_search(kKeywords, word);
}

std::string SymInt::text() const {
  if (is_number()) return std::to_string(number_);
  const std::vector<Term>& terms = poly_->terms;
  // "3-batch" reads better than "-batch+3".
  std::size_t first = 0;
  while (first < terms.size() && terms[first].coefficient < 0) ++first;
  if (first == terms.size()) first = 0;
  const bool minus = terms[first].coefficient < 0;
  std::string text(minus ? "-" : "");
  append_term(text, terms[first], minus);
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (i == first) continue;
    text += terms[i].coefficient < 0 ? '-' : '+';
    append_term(text, terms[i], false);
  }
  return text;
}

std::optional<SymInt> SymInt::parse(std::string_view text) {
  if (text.size() > kMaxTextLength) return std::nullopt;
  try {
    return SizeParser(text).whole();
  } catch (const SymbolicError&) {
    return std::nullopt;
  }
}

}  // namespace fxtrace
