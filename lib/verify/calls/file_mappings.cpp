#include "verify/calls/file_mappings.h"

#include <cerrno>
#include <new>

#include <sys/mman.h>
#include <unistd.h>

namespace fxtrace::internal::verify {

FileMappings::~FileMappings() {
  for (const Mapping& mapping : mappings_) ::munmap(mapping.start, mapping.size);
}

void* FileMappings::map(std::uint64_t offset, std::uint64_t size) {
  // Memory beyond the end of the file cannot be mapped.
  if (size == 0 || offset > file_.size() || size > file_.size() - offset) return nullptr;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t start = offset / page * page;
  const auto ahead = static_cast<std::size_t>(offset - start);
  const std::size_t mapped = ahead + static_cast<std::size_t>(size);
  mappings_.reserve(mappings_.size() + 1);
  void* const mapping = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE, file_.descriptor(),
                               static_cast<off_t>(start));
  if (mapping == MAP_FAILED) {
    if (errno == ENOMEM) throw std::bad_alloc();  // --max-memory counts writable memory
    return nullptr;
  }
  mappings_.push_back({mapping, mapped});
  return static_cast<char*>(mapping) + ahead;
}

}  // namespace fxtrace::internal::verify
