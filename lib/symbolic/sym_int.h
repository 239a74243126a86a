// Symbolic integers: sizes that are known as expressions of named dimensions, as torch.SymInt.
//
// A SymInt is a polynomial with integer coefficients over atoms; an atom is a dimension, or a rounded-down
// quotient, remainder, minimum or maximum of SymInts.  It is kept in one normal form, so that two that are
// written in different ways and expand to the same polynomial compare equal.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace fxtrace {

// What cannot be said: a coefficient beyond 64 bits, a division by zero, an expression that grows too large.
class SymbolicError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class SymInt {
 public:
  SymInt(std::int64_t number = 0);  // NOLINT: implicit on purpose, sizes read like numbers
  // A named dimension; `name` is a Python identifier.
  static SymInt symbol(std::string name);
  // Reads a Python expression of integers, names, + - * // % **, unary -, min(), max() and parentheses, which
  // is what text() writes.  Also Min(), Max(), Mod(a, b), FloorDiv(a, b) and CeilDiv of sympy.  Nothing for
  // other texts.
  static std::optional<SymInt> parse(std::string_view text);

  bool is_number() const { return poly_ == nullptr; }
  std::optional<std::int64_t> number() const;
  // The dimension's name when the expression is nothing but one.
  std::optional<std::string> symbol_name() const;
  // As Python writes it, without spaces: "batch*2", "(seq+1)//2", "max(1,batch)".  Deterministic.
  std::string text() const;
  // Names of all dimensions in it, sorted.
  std::vector<std::string> symbols() const;
  // The value for given dimensions, as Python computes it.  Absent when a dimension is not given, a divisor
  // is zero, or 64 bits are not enough.
  std::optional<std::int64_t> evaluate(const std::map<std::string, std::int64_t>& values) const;
  // With expressions in the place of dimensions.  Throws SymbolicError.
  SymInt substitute(const std::map<std::string, SymInt>& values) const;

  // Same normal form.
  bool operator==(const SymInt& other) const;

  // All of them may throw SymbolicError.  floordiv and mod round down, as Python's // and %.
  friend SymInt operator+(const SymInt& a, const SymInt& b);
  friend SymInt operator-(const SymInt& a, const SymInt& b);
  friend SymInt operator*(const SymInt& a, const SymInt& b);
  friend SymInt operator-(const SymInt& a);
  friend SymInt floordiv(const SymInt& a, const SymInt& b);
  friend SymInt mod(const SymInt& a, const SymInt& b);
  friend SymInt min(const SymInt& a, const SymInt& b);
  friend SymInt max(const SymInt& a, const SymInt& b);

  struct Polynomial;  // of the implementation

 private:
  friend class ShapeEnv;
  std::int64_t number_ = 0;
  std::shared_ptr<const Polynomial> poly_;  // null for a plain number
};

// Rounded up; `b` is positive.
SymInt ceildiv(const SymInt& a, const SymInt& b);

}  // namespace fxtrace
