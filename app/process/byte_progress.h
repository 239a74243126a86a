// The progress of a long copy, shown on a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace fxtrace::internal::cli {

// A line on stderr, if that is a terminal, that is overwritten as the copy goes on.  It appears after a
// second.
class ByteProgress {
 public:
  explicit ByteProgress(std::string what);  // "reading stdin"
  ~ByteProgress() { clear(); }
  ByteProgress(const ByteProgress&) = delete;
  ByteProgress& operator=(const ByteProgress&) = delete;

  bool shows() const { return shows_; }
  void show(std::uint64_t bytes);
  void clear();  // makes room for other lines

 private:
  using Clock = std::chrono::steady_clock;

  std::string what_;
  bool shows_;
  bool is_told_ = false, was_told_ = false;
  Clock::time_point told_ = Clock::now();
};

}  // namespace fxtrace::internal::cli
