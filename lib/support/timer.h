// A timer for steps, which -v reports.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>

namespace fxtrace::internal {

class Timer {
 public:
  std::string milliseconds() const {
    const std::chrono::duration<double, std::milli> passed = std::chrono::steady_clock::now() - start_;
    char text[32];
    std::snprintf(text, sizeof text, "%.1f ms", passed.count());
    return text;
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace fxtrace::internal
