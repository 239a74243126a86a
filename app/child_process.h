// What it takes to run a process that is not trusted: what it may keep open, what it says, and how long it
// may take.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "support/descriptor.h"

namespace fxtrace::cli {

// Of this process: closes all but stderr and `kept`; stdin and stdout become /dev/null unless they are among
// them.
void close_others(std::vector<int> kept);

// What a child says on stderr, which is a pipe: a terminal could be read there, and a log sought back in.
class Messages {
 public:
  // Text of the child may have these colours (as Console and log write them) where `colour` is set.  Throws
  // Error(kInput).
  explicit Messages(bool colour);

  void become_stderr();  // in the child
  void begin();          // in the parent, when there is a child
  int number() const { return read_.number(); }
  // Copies what has come to stderr, printable, up to kMaxBytes in all.  False when nothing more can come.
  bool copy();
  void end();  // what is left, a line that does not end too

  static constexpr std::size_t kMaxBytes = std::size_t{4} << 20;

 private:
  void say(std::string_view line);

  bool colour_;
  Descriptor read_, write_;
  std::string line_;  // that does not end yet
  std::size_t said_ = 0;
};

// Its status when it has ended; nothing, and the child is killed, when it took longer than `seconds` (0: any
// time) by the clock.  `messages` may be null.
std::optional<int> wait_for(pid_t child, std::uint64_t seconds, Messages* messages);

}  // namespace fxtrace::cli
