#include "costs/term_sums.h"

#include <algorithm>

namespace fxtrace::internal {
namespace {

constexpr std::size_t kMaxTerms = 256;

void add_to(std::int64_t& sum, std::int64_t number, std::int64_t sign) {
  std::int64_t change = 0;
  if (__builtin_mul_overflow(number, sign, &change) || __builtin_add_overflow(sum, change, &sum)) {
    throw SymbolicError("a sum does not fit into 64 bits");
  }
}

}  // namespace

std::size_t TermSums::place_of(const symbolic::Term& term) {
  const auto found = std::ranges::find_if(
      terms_, [&](const symbolic::Term& known) { return symbolic::same_atoms(known, term); });
  if (found != terms_.end()) return static_cast<std::size_t>(found - terms_.begin());
  if (terms_.size() == kMaxTerms) throw SymbolicError("a sum has too many terms");
  terms_.push_back({term.atoms, 1});
  return terms_.size() - 1;
}

void TermSums::add(Sum& sum, const SymInt& size, std::int64_t sign) {
  if (sum.empty()) sum.push_back(0);
  if (const auto number = size.number()) return add_to(sum[0], *number, sign);
  for (const symbolic::Term& term : symbolic::terms_of(size)) {
    const std::size_t place = place_of(term);
    if (sum.size() <= place) sum.resize(place + 1);
    add_to(sum[place], term.coefficient, sign);
  }
}

SymInt TermSums::size(const Sum& sum) const {
  std::vector<symbolic::Term> terms;
  for (std::size_t i = 0; i < sum.size(); ++i) {
    if (sum[i] != 0) terms.push_back({terms_[i].atoms, sum[i]});
  }
  return symbolic::sum(std::move(terms));
}

bool is_no_less(const TermSums::Sum& sum, const TermSums::Sum& other) {
  for (std::size_t i = 0; i < std::max(sum.size(), other.size()); ++i) {
    if ((i < sum.size() ? sum[i] : 0) < (i < other.size() ? other[i] : 0)) return false;
  }
  return true;
}

}  // namespace fxtrace::internal
