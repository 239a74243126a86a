// What a SymInt is made of; for lib/symbolic alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "symbolic/sym_int.h"

namespace fxtrace::symbolic {

enum class AtomKind { kSymbol, kFloorDiv, kMod, kMin, kMax };

// What a polynomial takes for a variable.  Two atoms are the same when their texts are.
struct Atom {
  AtomKind kind;
  std::string text;  // a symbol's name, or the operation as Python writes it
  std::vector<SymInt> operands = {};
  std::size_t weight = 1;  // atoms in it, itself included, counted as often as they are written
  int depth = 0;
  // A bit for each symbol in it, by its name's hash: what has no bit in common has no symbol in common.
  std::uint64_t symbols = 0;
  bool repeats = false;  // perhaps there is a symbol in it twice
};
using AtomRef = std::shared_ptr<const Atom>;

// coefficient * atoms[0] * atoms[1] * ..., the atoms in order; a square has its atom twice.
struct Term {
  std::vector<AtomRef> atoms;
  std::int64_t coefficient = 0;
};

bool is_keyword(std::string_view word);  // of Python: it is no name

bool same(const AtomRef& a, const AtomRef& b);
// Symbols first, then by their texts.
bool before(const AtomRef& a, const AtomRef& b);

// Higher degree first, then by the atoms.  This is an order in which polynomials can be divided: it is kept
// when both sides are multiplied by the same atoms.
bool before(const Term& a, const Term& b);
bool same_atoms(const Term& a, const Term& b);

// The terms of any SymInt in order: those of a number too, which is none for zero.  Valid as long as the
// SymInt.
class Terms;
Terms terms_of(const SymInt& value);
// The sum of terms in any order.  Throws SymbolicError.
SymInt sum(std::vector<Term> terms);
SymInt product(const Term& term);
SymInt from_atom(const AtomRef& atom);
// The atom when the value is nothing else; else null.
AtomRef single_atom(const SymInt& value);
// The operation of the atom, on other operands, in normal form.
SymInt operation(AtomKind kind, const std::vector<SymInt>& operands);
// The atoms that are left of `whole` without those of `part`; false when it does not have them all.
bool divide_atoms(const std::vector<AtomRef>& whole, const std::vector<AtomRef>& part,
                  std::vector<AtomRef>& rest);

std::int64_t constant_of(const SymInt& value);
// The greatest number that divides all coefficients; without the constant unless it is asked for.
std::int64_t content_of(const SymInt& value, bool with_constant);

}  // namespace fxtrace::symbolic

namespace fxtrace {

struct SymInt::Polynomial {
  // In order, none of them zero, at least one with an atom.
  std::vector<symbolic::Term> terms;
  std::size_t weight = 0;
  int depth = 0;
  std::uint64_t symbols = 0;  // as an atom's
  bool repeats = false;

  static const Polynomial* of(const SymInt& value) { return value.poly_.get(); }
  static SymInt wrap(Polynomial polynomial) {
    SymInt value;
    value.poly_ = std::make_shared<const Polynomial>(std::move(polynomial));
    return value;
  }
};

}  // namespace fxtrace

namespace fxtrace::symbolic {

class Terms {
 public:
  explicit Terms(const SymInt& value) {
    if (const auto* polynomial = SymInt::Polynomial::of(value)) {
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

// Adds up many values at once.
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
  const auto* polynomial = SymInt::Polynomial::of(value);
  return polynomial == nullptr ? 1 : polynomial->weight;
}
inline std::uint64_t symbol_bits(const SymInt& value) {
  const auto* polynomial = SymInt::Polynomial::of(value);
  return polynomial == nullptr ? 0 : polynomial->symbols;
}
// Whether a symbol may occur in it more than once.
inline bool has_repeats(const SymInt& value) {
  const auto* polynomial = SymInt::Polynomial::of(value);
  return polynomial != nullptr && polynomial->repeats;
}

}  // namespace fxtrace::symbolic
