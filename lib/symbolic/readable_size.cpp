#include "symbolic/readable_size.h"

#include <cstddef>
#include <cstdlib>

#include "symbolic/polynomial.h"

namespace fxtrace::internal {
namespace {

// Returns "batch·seq²"; divisions and other operations are in parentheses.
std::string factors_text(const symbolic::Term& term) {
  std::string text;
  for (std::size_t i = 0; i < term.atoms.size();) {
    std::size_t power = 1;
    while (i + power < term.atoms.size() && symbolic::same_atom(term.atoms[i], term.atoms[i + power]))
      ++power;
    const bool is_name = term.atoms[i]->kind == symbolic::AtomKind::kSymbol;
    if (i != 0) text += "·";
    text += is_name ? term.atoms[i]->text : "(" + term.atoms[i]->text + ")";
    if (power == 2) text += "²";
    if (power == 3) text += "³";
    if (power > 3) text += "^" + std::to_string(power);
    i += power;
  }
  return text;
}

}  // namespace

std::string readable_size(const SymInt& size, std::string (*number_text)(std::int64_t)) {
  std::string text;
  for (const symbolic::Term& term : symbolic::Terms(size)) {
    const std::string factors = factors_text(term);
    const std::int64_t number = term.coefficient == INT64_MIN ? INT64_MAX : std::abs(term.coefficient);
    const bool is_less = term.coefficient < 0;
    text += text.empty() ? (is_less ? "-" : "") : is_less ? " - " : " + ";
    text += factors;
    const std::string count = number_text(number);
    if (factors.empty() || count != "1") text += (factors.empty() ? "" : "·") + count;
  }
  return text;
}

}  // namespace fxtrace::internal
