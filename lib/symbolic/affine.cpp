#include "symbolic/affine.h"

#include <map>
#include <numeric>
#include <string>

namespace fxtrace::internal {

std::optional<std::int64_t> Affine::apply(std::int64_t other) const {
  std::int64_t value = 0;
  if (__builtin_mul_overflow(factor, other, &value) || __builtin_add_overflow(value, offset, &value) ||
      value % divisor != 0)
    return std::nullopt;
  return value / divisor;
}

std::optional<Affine> find_affine(const SymInt& size, const SymInt& other) {
  // Two points determine the only line that it can be; the polynomials tell whether it is one.
  std::map<std::string, std::int64_t> first, second;
  std::int64_t place = 1;
  for (const SymInt* each : {&size, &other}) {
    for (const std::string& name : each->symbols()) {
      first.emplace(name, 60 + place);
      second.emplace(name, 120 + 7 * place);
      place = place % 50 + 1;
    }
  }
  const auto s1 = size.evaluate(first), s2 = size.evaluate(second);
  const auto o1 = other.evaluate(first), o2 = other.evaluate(second);
  if (!s1 || !s2 || !o1 || !o2) return std::nullopt;
  Affine line;
  if (__builtin_sub_overflow(*s2, *s1, &line.factor) || __builtin_sub_overflow(*o2, *o1, &line.divisor) ||
      line.factor == 0 || line.divisor == 0 || line.factor == INT64_MIN || line.divisor == INT64_MIN)
    return std::nullopt;
  const std::int64_t common = std::gcd(line.factor, line.divisor) * (line.divisor < 0 ? -1 : 1);
  line.factor /= common;
  line.divisor /= common;
  try {
    const auto offset = (size * SymInt(line.divisor) - other * SymInt(line.factor)).number();
    if (!offset) return std::nullopt;
    line.offset = *offset;
  } catch (const SymbolicError&) {
    return std::nullopt;
  }
  return line;
}

std::optional<std::int64_t> SizeSource::value(const std::vector<std::int64_t>& known) const {
  const auto of = [&](const KnownSize& source) { return source.affine.apply(known.at(source.place)); };
  if (whole) return of(*whole);
  std::map<std::string, std::int64_t> values;
  for (const auto& [name, source] : dimensions) {
    const auto value = of(source);
    if (!value) return std::nullopt;
    values.emplace(name, *value);
  }
  return size.evaluate(values);
}

std::optional<SizeSource> find_source(const SymInt& size, const std::vector<SymInt>& known) {
  const auto find = [&](const SymInt& wanted) -> std::optional<SizeSource::KnownSize> {
    for (std::size_t i = 0; i < known.size(); ++i) {
      if (const auto affine = find_affine(wanted, known[i])) return SizeSource::KnownSize{i, *affine};
    }
    return std::nullopt;
  };
  SizeSource source{size, {}, {}};
  if (size.is_number()) return source;
  source.whole = find(size);
  if (source.whole) return source;
  for (const std::string& name : size.symbols()) {
    const auto dimension = find(SymInt::symbol(name));
    if (!dimension) return std::nullopt;
    source.dimensions.emplace(name, *dimension);
  }
  return source;
}

}  // namespace fxtrace::internal
