// How far a long copy is, for who waits.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace fxtrace::cli {

// A line on a terminal that is written over, from the first second on; nothing elsewhere.
class ByteProgress {
 public:
  explicit ByteProgress(std::string what);  // "reading stdin"
  ~ByteProgress() { clear(); }
  ByteProgress(const ByteProgress&) = delete;
  ByteProgress& operator=(const ByteProgress&) = delete;

  bool shows() const { return shows_; }
  void show(std::uint64_t bytes);
  void clear();  // for other lines

 private:
  using Clock = std::chrono::steady_clock;

  std::string what_;
  bool shows_;
  bool is_told_ = false, was_told_ = false;
  Clock::time_point told_ = Clock::now();
};

}  // namespace fxtrace::cli
