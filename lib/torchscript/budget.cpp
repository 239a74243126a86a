#include "torchscript/budget.h"

#include <string>

#include "support/error.h"
#include "trace/options.h"

namespace fxtrace {
namespace {

constexpr std::int64_t kUnits = std::int64_t{1} << 26;
constexpr Limits kUsual;

}  // namespace

Budget::Budget(const Limits& limits)
    : units_(kUnits * std::max<std::int64_t>(1, limits.iterations / kUsual.iterations)), left_(units_) {}

void Budget::run_out() const {
  throw input_error("following its code takes more than " + std::to_string(units_) + " steps",
                    {"--max-iterations above " + std::to_string(kUsual.iterations) + " allows more"});
}

}  // namespace fxtrace
