#include <csignal>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "support/system.h"

namespace fxtrace::internal {

const char* const kOwnDescriptors = "/proc/self/fd";
const bool kCountsMemory = true;

Descriptor memory_file() { return Descriptor(::memfd_create("fxtrace", MFD_CLOEXEC)); }
bool make_pipe(std::array<int, 2>& ends) { return ::pipe2(ends.data(), O_CLOEXEC) == 0; }
bool close_at_once(unsigned first, unsigned last) { return ::syscall(SYS_close_range, first, last, 0) == 0; }
void redirect(int other, int descriptor) { ::dup3(descriptor, other, 0); }

bool is_unnamed_pipe(int descriptor) {
  struct statfs system{};
  return ::fstatfs(descriptor, &system) == 0 && system.f_type == PIPEFS_MAGIC;
}

void end_with_parent() { ::prctl(PR_SET_PDEATHSIG, SIGKILL); }
Descriptor end_of(pid_t child) { return Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, child, 0))); }

}  // namespace fxtrace::internal
