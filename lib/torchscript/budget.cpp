#include "torchscript/budget.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "support/error.h"
#include "trace/options.h"

namespace fxtrace::torchscript {
namespace {

constexpr std::int64_t kUsualUnits = std::int64_t{1} << 26;
constexpr Limits kUsual;

// As many more as more iterations are allowed; of fewer, an eighth is always there.
std::int64_t units(const Limits& limits) {
  constexpr std::int64_t kMostTimes = 1'000;
  const std::int64_t per_iteration = kUsualUnits / kUsual.iterations;
  const std::int64_t iterations = std::min(limits.iterations, kMostTimes * kUsual.iterations);
  return std::max(kUsualUnits / 8, per_iteration * iterations);
}

}  // namespace

Budget::Budget(const Limits& limits) : units_(units(limits)), left_(units_) {}

void Budget::run_out() const {
  throw input_error("following its code takes more than " + std::to_string(units_) + " steps",
                    {"--max-iterations above " + std::to_string(kUsual.iterations) + " allows more of them"});
}

}  // namespace fxtrace::torchscript
