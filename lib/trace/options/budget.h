// Budget of a trace: a bound on the work and memory that running a file's code may take.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "trace/options/options.h"

namespace fxtrace::internal {

// The units that traces have spent.  Those that are given the same one share a budget; null: each has its
// own.
using SpentUnits = std::shared_ptr<std::int64_t>;

class Budget {
 public:
  // Makes the budget for a file of that many bytes.
  Budget(const Limits& limits, std::uint64_t file_size, SpentUnits spent = nullptr);

  // Spends units: one is a step of the interpreter, or 16 bytes that it keeps.  Throws Error(kInput) when the
  // budget is used up.
  void spend(std::size_t units) {
    *spent_ += static_cast<std::int64_t>(std::min<std::size_t>(units, INT32_MAX));
    if (*spent_ > units_) run_out();
  }

 private:
  [[noreturn]] void run_out() const;

  std::int64_t units_;
  SpentUnits spent_;  // never null
};

}  // namespace fxtrace::internal
