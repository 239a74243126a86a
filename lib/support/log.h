// Progress messages for people, on stderr, and the times in them.
#pragma once

#include <chrono>
#include <cstdio>
#include <iosfwd>
#include <string>

namespace fxtrace::internal::log {

// Progress messages for people, on stderr.  Neither products nor errors are written here.

struct Settings {
  bool enabled = false;  // -v
  bool colour = false;   // stderr is a terminal and NO_COLOR is not set
  bool timings = false;  // --timings
};

// Sets where progress of this thread is written until the next set_up(); `err` must live as long.  Nothing is
// written before the first call.
void set_up(std::ostream& err, const Settings& settings);

bool is_enabled();

// Writes one line of progress, with unprintable characters escaped.  Cheap when logging is off.
void info(const std::string& message);
// Writes a line that --timings asks for.
void timings(const std::string& message);

}  // namespace fxtrace::internal::log

namespace fxtrace::internal {

// A timer for steps, which -v reports.

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
