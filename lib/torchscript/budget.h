// Bounds the work and memory that following an archive's code may take in one trace.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace fxtrace {
struct Limits;
}

namespace fxtrace::torchscript {

class Budget {
 public:
  explicit Budget(const Limits& limits);

  // Spends units: one is a step of the interpreter, or 16 bytes that it keeps.  Throws Error(kInput) when
  // none is left.
  void spend(std::size_t units) {
    left_ -= static_cast<std::int64_t>(std::min<std::size_t>(units, INT32_MAX));
    if (left_ < 0) run_out();
  }

 private:
  [[noreturn]] void run_out() const;

  std::int64_t units_, left_;
};

}  // namespace fxtrace::torchscript
