// What the program sets of jemalloc, where it is linked to it (cmake/Dependencies.cmake).
#include <string_view>

#include <sys/resource.h>
#include <unistd.h>

#include "app/commands/command.h"

extern "C" {
// jemalloc reads it before anything else.  Large pages where the system has them for who asks: otherwise a
// third of the time of a large trace goes to faults, one for each 4 KiB.  One arena, as there is one thread.
extern const char* malloc_conf;
const char* malloc_conf = "thp:always,narenas:1";
}

namespace {

constexpr rlim_t kLeast = rlim_t{16} << 20;

// It begins with pieces of megabytes.  Without them nothing can be allocated, not even to say so.
void check_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_DATA, &limit) != 0 || limit.rlim_cur >= kLeast) return;
  constexpr std::string_view kMessage =
      "fxtrace: error: it needed more memory than `ulimit -d` allows (less than 16 MiB)\n"
      "hint: start fxtrace with a larger limit\n";
  static_cast<void>(!::write(STDERR_FILENO, kMessage.data(), kMessage.size()));
  ::_exit(fxtrace::cli::kBadInput);
}

// Before the constructors of all libraries, which allocate.
[[gnu::section(".preinit_array"), gnu::used]] void (*const kBeforeAll)() = check_limit;

}  // namespace
