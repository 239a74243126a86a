#include "trace/options/budget.h"

#include <string>

#include "support/error.h"

namespace fxtrace::internal {
namespace {

// These allow about two seconds of processor time for the smallest file, and as much again for each 130 KB:
// the work grows with the size of the file.
constexpr std::int64_t kUnits = std::int64_t{1} << 25;
constexpr std::int64_t kUnitsOfByte = 256;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 40;

// Returns the number of units; it grows in proportion to the limit of iterations.
std::int64_t units(const Limits& limits, std::uint64_t file_size) {
  constexpr Limits kUsual;
  constexpr std::int64_t kMostTimes = 1'000;
  const std::int64_t usual =
      kUnits + kUnitsOfByte * static_cast<std::int64_t>(std::min(file_size, kMostBytes));
  const std::int64_t iterations =
      std::clamp(limits.iterations, kUsual.iterations, kMostTimes * kUsual.iterations);
  return usual / kUsual.iterations * iterations;
}

}  // namespace

Budget::Budget(const Limits& limits, std::uint64_t file_size, SpentUnits spent)
    : units_(units(limits, file_size)),
      spent_(spent != nullptr ? std::move(spent) : std::make_shared<std::int64_t>(0)) {}

void Budget::run_out() const {
  throw input_error("the code of the file takes more than " + std::to_string(units_) + " steps to trace",
                    {"--max-iterations above " + std::to_string(Limits().iterations) + " allows more steps"});
}

}  // namespace fxtrace::internal
