// Budget of a trace: a bound on the work and memory that running a file's code may take.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace fxtrace {

struct TraceOptions;

class Budget {
 public:
  // Makes the budget for a file of that many bytes.  Traces that share TraceOptions::spent share the budget.
  Budget(const TraceOptions& options, std::uint64_t file_size);

  // Spends units: one is a step of the interpreter, or 16 bytes that it keeps.  Throws Error(kInput) when the
  // budget is used up.
  void spend(std::size_t units) {
    *spent_ += static_cast<std::int64_t>(std::min<std::size_t>(units, INT32_MAX));
    if (*spent_ > units_) run_out();
  }

 private:
  [[noreturn]] void run_out() const;

  std::int64_t units_;
  std::shared_ptr<std::int64_t> spent_;  // never null
};

}  // namespace fxtrace
