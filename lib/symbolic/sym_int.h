// Symbolic integers: sizes as expressions over named dimensions, like torch.SymInt.
//
// A SymInt is a polynomial with integer coefficients over atoms; an atom is a dimension, or a floor division,
// remainder, minimum or maximum of SymInts.  It is kept in a normal form, so expressions that expand to the
// same polynomial compare equal.
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

namespace fxtrace::internal {

// Thrown for values that cannot be represented: a coefficient beyond 64 bits, a division by zero, an
// expression that grows too large.
class SymbolicError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class SymInt {
 public:
  SymInt(std::int64_t number = 0);  // NOLINT: implicit on purpose, sizes read like numbers
  // Returns a named dimension; `name` must be a Python identifier.
  static SymInt symbol(std::string name);
  // Parses a Python expression of integers, names, + - * // % **, unary -, min(), max() and parentheses,
  // which includes all that text() writes; also Min(), Max(), Mod(a, b), FloorDiv(a, b) and CeilDiv of sympy.
  // Nothing for other texts.
  static std::optional<SymInt> parse(std::string_view text);

  bool is_number() const { return poly_ == nullptr; }
  std::optional<std::int64_t> number() const;
  // Returns the dimension's name when the expression is just a dimension.
  std::optional<std::string> symbol_name() const;
  // Returns the Python text, without spaces: "batch*2", "(seq+1)//2", "max(1,batch)".  Deterministic.
  std::string text() const;
  // Returns the names of all dimensions in the expression, sorted.
  std::vector<std::string> symbols() const;
  // Returns the value for the given dimensions, as Python computes it; nothing when a dimension is missing,
  // a divisor is zero, or 64 bits are not enough.
  std::optional<std::int64_t> evaluate(const std::map<std::string, std::int64_t>& values) const;
  // Substitutes expressions for dimensions.  Throws SymbolicError.
  SymInt substitute(const std::map<std::string, SymInt>& values) const;

  // Compares normal forms.
  bool operator==(const SymInt& other) const;

  // All operators may throw SymbolicError.  floordiv() and mod() round down, as // and % in Python.
  friend SymInt operator+(const SymInt& a, const SymInt& b);
  friend SymInt operator-(const SymInt& a, const SymInt& b);
  friend SymInt operator*(const SymInt& a, const SymInt& b);
  friend SymInt operator-(const SymInt& a);
  friend SymInt floordiv(const SymInt& a, const SymInt& b);
  friend SymInt mod(const SymInt& a, const SymInt& b);
  friend SymInt min(const SymInt& a, const SymInt& b);
  friend SymInt max(const SymInt& a, const SymInt& b);

  struct Polynomial;

 private:
  friend class ShapeEnv;
  std::int64_t number_ = 0;
  std::shared_ptr<const Polynomial> poly_;  // null for a plain number
};

// Returns a / b rounded up; `b` must be positive.
SymInt ceildiv(const SymInt& a, const SymInt& b);

}  // namespace fxtrace::internal
