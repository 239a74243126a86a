#include "app/torchscript_loader.h"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <new>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <sys/mman.h>

#include "support/error.h"

namespace fxtrace::cli {
namespace {

constexpr char kLibrary[] = "libfxtrace_torchscript.so";

std::vector<std::filesystem::path> library_folders() {
  std::error_code failed;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed) return {};
  const auto folder = program.parent_path();
  return {folder, folder / FXTRACE_PLUGIN_DIR, folder / ".." / "lib"};
}

// What the loader says when it cannot map something, which may be for other reasons too: a file system that
// is mounted noexec.
bool is_about_memory(const std::string& reason) {
  return reason.find("map") != std::string::npos || reason.find("memory") != std::string::npos;
}

// Whether there are as many addresses, and as much memory to write to, as LibTorch takes to be loaded.
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

void* open_library() {
  for (const auto& folder : library_folders()) {
    const auto path = folder / kLibrary;
    std::error_code failed;
    if (!std::filesystem::exists(path, failed)) continue;
    // Local: LibTorch's symbols must not meet the program's.
    void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) return library;
    const char* error = ::dlerror();
    const std::string reason = error != nullptr ? error : "unknown reason";
    if (is_about_memory(reason) && !has_room()) throw std::bad_alloc();
    const bool too_many_open = reason.find(std::strerror(EMFILE)) != std::string::npos;
    throw input_error(
        std::string("cannot load LibTorch, which reading TorchScript needs: ") + reason,
        {too_many_open
             ? "a larger `ulimit -n` allows more"
             : "build fxtrace against the LibTorch that is installed (2.13), or add its lib folder to "
               "LD_LIBRARY_PATH"});
  }
  throw input_error(std::string("reading TorchScript needs ") + kLibrary +
                        ", which is neither next to fxtrace nor in its library folder",
                    {"build fxtrace with -DFXTRACE_TORCHSCRIPT=ON, or install it with cmake --install"});
}

void* library() {
  static void* const opened = open_library();  // once it is there; an exception means to try again
  return opened;
}

// The function of that name in the library, which is opened for the first of them.
template <class Function>
Function find_function(const char* name) {
  const auto function = reinterpret_cast<Function>(::dlsym(library(), name));
  if (function == nullptr) {
    throw input_error(std::string(kLibrary) + " does not belong to this build of fxtrace",
                      {"install both from the same build"});
  }
  return function;
}

}  // namespace

void load_libtorch() { library(); }

void open_torchscript(const TraceOptions& options) {
  find_function<decltype(&fxtrace_open_torchscript)>("fxtrace_open_torchscript")(options);
}

TraceResult trace_torchscript(const ModelFile& file, const FileInfo& info, const TraceOptions& options,
                              const Wanted& wanted, const Listener& listener) {
  TraceResult result;
  find_function<decltype(&fxtrace_trace_torchscript)>("fxtrace_trace_torchscript")(file, info, options,
                                                                                   wanted, listener, result);
  return result;
}

}  // namespace fxtrace::cli
