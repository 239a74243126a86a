#include "verify/solve.h"

namespace fxtrace::verify {

std::optional<std::pair<std::string, std::int64_t>> solve(const SymInt& size, std::int64_t result,
                                                          std::map<std::string, std::int64_t> sizes) {
  std::optional<std::string> unknown;
  for (const std::string& name : size.symbols()) {
    if (sizes.contains(name)) continue;
    if (unknown) return std::nullopt;
    unknown = name;
  }
  if (!unknown) return std::nullopt;
  const SymInt dimension = SymInt::symbol(*unknown);
  const auto at = [&](std::int64_t value) {
    sizes[*unknown] = value;
    return size.evaluate(sizes);
  };
  const auto offset = at(0);
  const auto next = at(1);
  std::int64_t factor = 0, rest = 0;
  if (!offset || !next || __builtin_sub_overflow(*next, *offset, &factor) || factor <= 0 ||
      __builtin_sub_overflow(result, *offset, &rest) || rest % factor != 0) {
    return std::nullopt;
  }
  sizes.erase(*unknown);
  try {
    const std::map<std::string, SymInt> known(sizes.begin(), sizes.end());
    if (size.substitute(known) != dimension * factor + *offset) return std::nullopt;
  } catch (const SymbolicError&) {
    return std::nullopt;
  }
  return std::pair(*unknown, rest / factor);
}

}  // namespace fxtrace::verify
