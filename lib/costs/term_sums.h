// Sums of many symbolic sizes.  The memory in use changes with every call, and most sizes are numbers or
// multiples of the same few terms, so a sum is kept as a vector of coefficients of common terms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "symbolic/polynomial.h"
#include "symbolic/sym_int.h"

namespace fxtrace::internal {

class TermSums {
 public:
  using Sum = std::vector<std::int64_t>;  // coefficients by term; 0 beyond the end

  // All functions throw SymbolicError when 64 bits are not enough, or there are too many terms.
  void add(Sum& sum, const SymInt& size) { add(sum, size, 1); }
  void subtract(Sum& sum, const SymInt& size) { add(sum, size, -1); }
  SymInt size(const Sum& sum) const;

 private:
  void add(Sum& sum, const SymInt& size, std::int64_t sign);
  std::size_t place_of(const symbolic::Term& term);

  std::vector<symbolic::Term> terms_{symbolic::Term{}};  // the constant first; coefficients are ignored
};

// Returns whether every coefficient of `sum` is at least that of `other`.
bool is_no_less(const TermSums::Sum& sum, const TermSums::Sum& other);

}  // namespace fxtrace::internal
