// The settings of jemalloc, in builds that link it (cmake/Dependencies.cmake).
#include <cstddef>
#include <string_view>

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "app/cli.h"

extern "C" {
// jemalloc reads this before anything else.  One arena is enough, as there is one thread.
extern const char* malloc_conf;
const char* malloc_conf = "narenas:1";
int mallctl(const char* name, void* old, std::size_t* old_size, void* value, std::size_t size);

// jemalloc's extent_hooks_t: how an arena gets its memory from the system, in pieces that grow from 2 MiB on.
struct ExtentHooks {
  void* (*allocate)(ExtentHooks* hooks, void* address, std::size_t size, std::size_t alignment, bool* zero,
                    bool* commit, unsigned arena);
  void* others[8];
};
}

namespace {

ExtentHooks* g_default_hooks = nullptr;
ExtentHooks g_hooks{};

// Asks for huge pages for all but the first pieces: otherwise a third of the time of a large trace goes to
// page faults, one for each 4 KiB.  The first pieces stay as they are, since clearing a huge page takes
// longer than a small trace in all.
void* allocate(ExtentHooks*, void* address, std::size_t size, std::size_t alignment, bool* zero, bool* commit,
               unsigned arena) {
  constexpr std::size_t kFirst = std::size_t{2} << 20;
  void* piece = g_default_hooks->allocate(g_default_hooks, address, size, alignment, zero, commit, arena);
  if (piece != nullptr && size > kFirst) ::madvise(piece, size, MADV_HUGEPAGE);
  return piece;
}

void use_large_pages() {
  constexpr const char* kHooks = "arena.0.extent_hooks";  // the control name of a pointer to the hooks
  std::size_t size = sizeof(void*);
  if (mallctl(kHooks, static_cast<void*>(&g_default_hooks), &size, nullptr, 0) != 0) return;
  g_hooks = *g_default_hooks;
  g_hooks.allocate = allocate;
  ExtentHooks* hooks = &g_hooks;
  mallctl(kHooks, nullptr, nullptr, static_cast<void*>(&hooks), size);
}

constexpr rlim_t kLeast = rlim_t{16} << 20;

// Ends the program with a message if RLIMIT_DATA is too small for jemalloc, which begins with pieces of
// megabytes; without them nothing can be allocated, not even for an error message.
void check_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_DATA, &limit) != 0 || limit.rlim_cur >= kLeast) return use_large_pages();
  constexpr std::string_view kMessage =
      "fxtrace: error: it needed more memory than `ulimit -d` allows (less than 16 MiB)\n"
      "hint: start fxtrace with a larger limit\n";
  static_cast<void>(!::write(STDERR_FILENO, kMessage.data(), kMessage.size()));
  ::_exit(fxtrace::internal::cli::kBadInput);
}

// Runs before the constructors of all libraries, which allocate.
[[gnu::section(".preinit_array"), gnu::used]] void (*const kBeforeAll)() = check_limit;

}  // namespace
