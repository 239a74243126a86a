// The representation of SymInt.  Private to lib/symbolic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "symbolic/sym_int.h"

namespace fxtrace::internal {
class Expression;
}

namespace fxtrace::internal::symbolic {

enum class AtomKind { kSymbol, kFloorDiv, kMod, kMin, kMax };

// A variable of a polynomial.  Atoms with equal texts are equal.
struct Atom {
  AtomKind kind;
  std::string text;  // a symbol's name, or the operation as Python writes it
  std::vector<SymInt> operands = {};
  std::size_t weight = 1;  // the number of atoms in it, with itself and with repetitions
  int depth = 0;
  // A Bloom filter of its symbols, one bit for each by the hash of its name: values without a common bit
  // have no common symbol.
  std::uint64_t symbols = 0;
  bool repeats = false;  // a symbol may occur in it twice
};
using AtomRef = std::shared_ptr<const Atom>;

// A monomial: coefficient * atoms[0] * atoms[1] * ..., with the atoms in order; a square has its atom twice.
struct Term {
  std::vector<AtomRef> atoms;
  std::int64_t coefficient = 0;
};

// Returns the integer expression as a SymInt, including rounded quotients such as math.floor(n/2); nothing
// for other expressions.
std::optional<SymInt> size_of(const Expression& value);
bool is_size_function(std::string_view name);  // a function that size_of() computes: "max", "FloorDiv"

bool same_atom(const AtomRef& a, const AtomRef& b);
// Orders symbols before other atoms, then by text.
bool before(const AtomRef& a, const AtomRef& b);

// Orders by descending degree, then by atoms.  This is a monomial order, preserved by multiplication, as
// polynomial division requires.
bool before(const Term& a, const Term& b);
bool same_atoms(const Term& a, const Term& b);

// A view of the terms of any SymInt in order; a plain number has one term, and zero has none.  Valid as long
// as the SymInt.
class Terms;
Terms terms_of(const SymInt& value);
// Returns the sum of terms in any order.  Throws SymbolicError.
SymInt sum(std::vector<Term> terms);
SymInt product(const Term& term);
SymInt from_atom(const AtomRef& atom);
// Returns the atom when the value is just one; else null.
AtomRef single_atom(const SymInt& value);
// Applies an atom's operation to operands; returns the normal form.
SymInt operation(AtomKind kind, const std::vector<SymInt>& operands);
// Divides `whole` by `part`, both products of atoms; returns false when it is not divisible.
bool divide_atoms(const std::vector<AtomRef>& whole, const std::vector<AtomRef>& part,
                  std::vector<AtomRef>& rest);

std::int64_t constant_of(const SymInt& value);
// Returns the content of the polynomial: the GCD of its coefficients, without the constant term unless asked
// for.
std::int64_t content_of(const SymInt& value, bool with_constant);

}  // namespace fxtrace::internal::symbolic

namespace fxtrace::internal {

struct SymInt::Polynomial {
  // The terms in order; no coefficient is zero, and at least one term has an atom.
  std::vector<symbolic::Term> terms;
  std::size_t weight = 0;
  int depth = 0;
  std::uint64_t symbols = 0;  // as Atom::symbols
  bool repeats = false;

  static const Polynomial* get(const SymInt& value) { return value.poly_.get(); }
  static SymInt wrap(Polynomial polynomial) {
    SymInt value;
    value.poly_ = std::make_shared<const Polynomial>(std::move(polynomial));
    return value;
  }
};

}  // namespace fxtrace::internal

namespace fxtrace::internal::symbolic {

class Terms {
 public:
  explicit Terms(const SymInt& value) {
    if (const auto* polynomial = SymInt::Polynomial::get(value)) {
      terms_ = &polynomial->terms;
    } else if (*value.number() != 0) {
      number_.push_back({{}, *value.number()});
    }
  }
  Terms(const Terms&) = delete;
  Terms& operator=(const Terms&) = delete;

  const std::vector<Term>& vector() const { return *terms_; }
  auto begin() const { return terms_->begin(); }
  auto end() const { return terms_->end(); }
  const Term& front() const { return terms_->front(); }
  std::size_t size() const { return terms_->size(); }

 private:
  std::vector<Term> number_;
  const std::vector<Term>* terms_ = &number_;
};

inline Terms terms_of(const SymInt& value) { return Terms(value); }

// Adds up many values.
class Sum {
 public:
  void add(const SymInt& value) {
    const Terms more(value);
    terms_.insert(terms_.end(), more.begin(), more.end());
  }
  SymInt total() { return sum(std::exchange(terms_, {})); }

 private:
  std::vector<Term> terms_;
};

inline std::size_t weight_of(const SymInt& value) {
  const auto* polynomial = SymInt::Polynomial::get(value);
  return polynomial == nullptr ? 1 : polynomial->weight;
}
inline std::uint64_t symbol_bits(const SymInt& value) {
  const auto* polynomial = SymInt::Polynomial::get(value);
  return polynomial == nullptr ? 0 : polynomial->symbols;
}
// Returns whether a symbol may occur in the value more than once.
inline bool has_repeats(const SymInt& value) {
  const auto* polynomial = SymInt::Polynomial::get(value);
  return polynomial != nullptr && polynomial->repeats;
}

}  // namespace fxtrace::internal::symbolic
