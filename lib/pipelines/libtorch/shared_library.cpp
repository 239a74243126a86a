#include "pipelines/libtorch/shared_library.h"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <new>
#include <string>
#include <system_error>

#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "support/error.h"

namespace fxtrace::internal {
namespace {

constexpr char kNotFound[] = ": cannot open shared object file: No such file or directory";

// Returns whether the loader failed to map memory, which may have other reasons too: a file system that is
// mounted noexec.
bool is_about_memory(const std::string& reason) {
  return reason.find("map") != std::string::npos || reason.find("memory") != std::string::npos;
}

// Returns whether the process can map the addresses and the writable memory that LibTorch needs.
bool has_room() {
  const auto can_map = [](std::size_t size, int protection) {
    void* const address =
        ::mmap(nullptr, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address == MAP_FAILED) return false;
    ::munmap(address, size);
    return true;
  };
  return can_map(std::size_t{1} << 30, PROT_NONE) && can_map(std::size_t{64} << 20, PROT_READ | PROT_WRITE);
}

std::string advice(const std::string& reason) {
  if (reason.find(std::strerror(EMFILE)) != std::string::npos) return "a larger `ulimit -n` allows more";
  // The parts of LibTorch itself are installed together.
  const bool is_of_libtorch = reason.starts_with("libtorch") || reason.starts_with("libc10");
  if (const std::size_t end = reason.find(kNotFound); end != std::string::npos && !is_of_libtorch) {
    return "LibTorch needs " + reason.substr(0, end) + ": install the package that has it";
  }
  return "install torch again, or let FXTRACE_LIBTORCH name the folder of another torch package";
}

}  // namespace

void* open_shared_library(const std::filesystem::path& file, std::string_view user) {
  if (void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  const char* error = ::dlerror();
  const std::string reason = error != nullptr ? error : "unknown reason";
  if (!file.has_parent_path() && reason == file.string() + kNotFound) return nullptr;
  if (is_about_memory(reason) && !has_room()) throw std::bad_alloc();
  throw input_error("cannot load LibTorch, which " + std::string(user) + " needs: " + reason,
                    {advice(reason)});
}

std::filesystem::path file_of_library(void* library) {
  link_map* map = nullptr;
  if (::dlinfo(library, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0 || map == nullptr) return {};
  return map->l_name;
}

std::filesystem::path own_folder() {
  std::string file;
  Dl_info ignored{};
  void* map = nullptr;
  // The name of the program itself is empty: argv[0] may be anything.
  const bool is_known =
      ::dladdr1(reinterpret_cast<void*>(&own_folder), &ignored, &map, RTLD_DL_LINKMAP) != 0 && map != nullptr;
  if (is_known) file = static_cast<const link_map*>(map)->l_name;
  std::error_code failed;
  auto path = std::filesystem::canonical(file.empty() ? "/proc/self/exe" : file, failed);
  // Without /proc, the name by which the program was started is used.
  const auto* const started_by =
      reinterpret_cast<const char*>(::getauxval(AT_EXECFN));  // NOLINT(performance-no-int-to-ptr)
  if (failed && file.empty() && started_by != nullptr) path = std::filesystem::canonical(started_by, failed);
  return failed ? std::filesystem::path() : path.parent_path();
}

}  // namespace fxtrace::internal
