#include "verify/inputs/solve.h"

#include "symbolic/affine.h"

namespace fxtrace::internal::verify {

std::optional<std::pair<std::string, std::int64_t>> solve(const SymInt& size, std::int64_t result,
                                                          const std::map<std::string, std::int64_t>& sizes) {
  try {
    const SymInt left = size.substitute({sizes.begin(), sizes.end()});
    const std::vector<std::string> names = left.symbols();
    if (names.size() != 1) return std::nullopt;
    const auto affine = find_affine(SymInt::symbol(names[0]), left);
    const auto value = affine ? affine->apply(result) : std::nullopt;
    return value ? std::optional(std::pair(names[0], *value)) : std::nullopt;
  } catch (const SymbolicError&) {
    return std::nullopt;
  }
}

}  // namespace fxtrace::internal::verify
