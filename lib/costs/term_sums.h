// Sums of many sizes.  What a graph holds changes with every call and is most often a number or a multiple of
// one and the same expression: such sums are kept as the coefficients of the terms that all sizes have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "symbolic/polynomial.h"
#include "symbolic/sym_int.h"

namespace fxtrace {

class TermSums {
 public:
  using Sum = std::vector<std::int64_t>;  // by term; 0 for those behind its end

  // All of them throw SymbolicError where 64 bits are not enough, or there are too many different terms.
  void add(Sum& sum, const SymInt& size) { add(sum, size, 1); }
  void subtract(Sum& sum, const SymInt& size) { add(sum, size, -1); }
  SymInt size(const Sum& sum) const;

 private:
  void add(Sum& sum, const SymInt& size, std::int64_t sign);
  std::size_t place_of(const symbolic::Term& term);

  std::vector<symbolic::Term> terms_{symbolic::Term{}};  // the constant first; coefficients mean nothing
};

// Whether every coefficient is at least that of the other.
bool is_no_less(const TermSums::Sum& sum, const TermSums::Sum& other);

}  // namespace fxtrace
