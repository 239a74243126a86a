#include "app/torchscript_loader.h"

#include <filesystem>
#include <vector>

#include <dlfcn.h>

#include "support/error.h"

namespace fxtrace::cli {
namespace {

constexpr char kLibrary[] = "libfxtrace_torchscript.so";

using FrontEnd = decltype(&fxtrace_trace_torchscript);

std::vector<std::filesystem::path> library_folders() {
  std::error_code failed;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed) return {};
  const auto folder = program.parent_path();
  return {folder, folder / FXTRACE_PLUGIN_DIR, folder / ".." / "lib"};
}

void* open_library() {
  for (const auto& folder : library_folders()) {
    const auto path = folder / kLibrary;
    std::error_code failed;
    if (!std::filesystem::exists(path, failed)) continue;
    // Local: LibTorch's symbols must not meet the program's.
    void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) return library;
    const char* reason = ::dlerror();
    throw input_error(
        std::string("cannot load LibTorch, which reading TorchScript needs: ") +
            (reason != nullptr ? reason : "unknown reason"),
        {"build fxtrace against the LibTorch that is installed (2.13), or add its lib folder to "
         "LD_LIBRARY_PATH"});
  }
  throw input_error(std::string("reading TorchScript needs ") + kLibrary +
                        ", which is neither next to fxtrace nor in its library folder",
                    {"build fxtrace with -DFXTRACE_TORCHSCRIPT=ON, or install it with cmake --install"});
}

}  // namespace

TraceResult trace_torchscript(const ModelFile& file, const TraceOptions& options, const Wanted& wanted,
                              const Listener& listener) {
  static void* const library = open_library();  // once it is there; an exception means to try again
  static const auto front_end = reinterpret_cast<FrontEnd>(::dlsym(library, "fxtrace_trace_torchscript"));
  if (front_end == nullptr) {
    throw input_error(std::string(kLibrary) + " does not belong to this build of fxtrace",
                      {"install both from the same build"});
  }
  TraceResult result;
  front_end(file, options, wanted, listener, result);
  return result;
}

}  // namespace fxtrace::cli
