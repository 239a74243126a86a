// Fuzz target: globs.
#include "support/text/glob.h"

#include "tests/fuzz/targets.h"

namespace fxtrace::internal::fuzz {

void glob(std::string_view input) {
  constexpr std::size_t kMaxLines = 10;
  const auto lines = lines_of(input, kMaxLines);
  accepts([&] {
    const Glob pattern(lines.front());
    for (const std::string_view line : lines) pattern.matches(line);
  });
}

}  // namespace fxtrace::internal::fuzz
