#include <climits>
#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include "support/system.h"

namespace fxtrace::internal {

// What is opened by such a name is the descriptor once more, with its right to write.
const char* const kOwnDescriptors = "/dev/fd";
const bool kCountsMemory = false;

Descriptor memory_file() {
  const char* folder = std::getenv("TMPDIR");
  std::string path = std::string(folder != nullptr && *folder != '\0' ? folder : "/tmp") + "/fxtrace.XXXXXX";
  Descriptor file(::mkostemp(path.data(), O_CLOEXEC));
  if (file) ::unlink(path.c_str());
  return file;
}

bool make_pipe(std::array<int, 2>& ends) {
  if (::pipe(ends.data()) != 0) return false;
  for (const int end : ends) ::fcntl(end, F_SETFD, FD_CLOEXEC);
  return true;
}

bool is_unnamed_pipe(int descriptor) {
  std::array<char, PATH_MAX> path{};
  return ::fcntl(descriptor, F_GETPATH, path.data()) != 0;
}

bool close_at_once(unsigned /*first*/, unsigned /*last*/) { return false; }
void redirect(int other, int descriptor) { ::dup2(descriptor, other); }
void end_with_parent() {}
Descriptor end_of(pid_t /*child*/) { return {}; }

}  // namespace fxtrace::internal
