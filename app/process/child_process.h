// A sandboxed child process, with its messages and the progress of what it copies.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "support/scope_guard.h"

namespace fxtrace::internal::cli {

// The progress of a long copy, shown on a terminal.

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

// Tools to run an untrusted child process: its open descriptors, its messages, and its time limit.

// Closes all descriptors of this process but stderr and `kept`; stdin and stdout become /dev/null unless they
// are kept.
void close_others(std::vector<int> kept);

struct Pipe {
  Descriptor read, write;  // its ends
};
Pipe open_pipe();  // throws Error(kInput)

// Relays a child's stderr through a pipe: with the descriptor itself, the child could read from a terminal or
// overwrite a log file.
class Messages {
 public:
  // With `colour`, passes on the colour sequences that Console and the log write.  Throws Error(kInput).
  explicit Messages(bool colour);

  int child_end() const { return pipe_.write.number(); }  // to be the child's stderr
  void begin();                                           // called in the parent, after the fork
  int number() const { return pipe_.read.number(); }
  // Copies available text to stderr, with unprintable characters escaped, up to kMaxBytes in total.  Returns
  // false at the end.
  bool copy();
  void end();  // copies the rest, including an unfinished line

  static constexpr std::size_t kMaxBytes = std::size_t{4} << 20;

 private:
  void show(std::string_view line);

  Pipe pipe_;
  bool colour_;
  std::string line_;  // unfinished line
  std::size_t said_ = 0;
};

// A progress display that is updated while a child works.
struct Watch {
  ByteProgress progress;
  std::function<std::uint64_t()> bytes;
};

// Waits for the child and returns its status.  After `seconds` of wall-clock time (0: no limit), kills the
// child and returns nothing.  `messages` and `watch` may be null.
std::optional<int> wait_for(pid_t child, std::uint64_t seconds, Messages* messages, Watch* watch = nullptr);

}  // namespace fxtrace::internal::cli
