// Bounds the work and memory that following a file's code may take.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace fxtrace {

struct TraceOptions;

class Budget {
 public:
  // For a file of that many bytes.  What traces with the same TraceOptions::spent have spent is gone.
  Budget(const TraceOptions& options, std::uint64_t file_size);

  // Spends units: one is a step of the interpreter, or 16 bytes that it keeps.  Throws Error(kInput) when
  // none is left.
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
