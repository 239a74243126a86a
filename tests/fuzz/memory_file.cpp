#include "tests/fuzz/memory_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <stdexcept>

#include "support/scope_guard.h"

namespace fxtrace::internal::fuzz {

ModelFile memory_file(std::string_view bytes) {
  const int descriptor = ::memfd_create("fuzz", MFD_CLOEXEC);
  if (descriptor < 0) throw std::runtime_error("no file in memory");
  const Restore close([&] { ::close(descriptor); });
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t written = ::write(descriptor, bytes.data() + at, bytes.size() - at);
    if (written <= 0) throw std::runtime_error("cannot write to a file in memory");
    at += static_cast<std::size_t>(written);
  }
  return {"/proc/self/fd/" + std::to_string(descriptor)};
}

}  // namespace fxtrace::internal::fuzz
