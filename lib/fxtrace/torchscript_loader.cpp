#include "fxtrace/torchscript_loader.h"

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <dlfcn.h>

#include "fxtrace/libtorch.h"
#include "fxtrace/own_folder.h"
#include "fxtrace/plugin_folder.h"
#include "fxtrace/shared_library.h"
#include "support/error.h"
#include "torchscript/front_end.h"

namespace fxtrace {
namespace {

constexpr char kPlugin[] = "libfxtrace_torchscript.so";

std::filesystem::path& given_folder() {
  static std::filesystem::path folder;
  return folder;
}

std::vector<std::filesystem::path> plugin_folders() {
  std::vector<std::filesystem::path> folders;
  if (!given_folder().empty()) folders.push_back(given_folder());
  const auto folder = own_folder();
  if (!folder.empty()) {
    folders.insert(folders.end(),
                   {folder, folder / FXTRACE_PLUGIN_DIR, folder.parent_path() / "lib/fxtrace"});
  }
  return folders;
}

void* open_plugin(const Listener& listener) {
  if (std::string(FXTRACE_TORCH_SERIES).empty()) {
    throw input_error("this fxtrace was built without TorchScript",
                      {"build it with -DFXTRACE_TORCHSCRIPT=ON"});
  }
  for (const auto& folder : plugin_folders()) {
    std::error_code failed;
    if (!std::filesystem::exists(folder / kPlugin, failed)) continue;
    open_libtorch(folder, listener);
    return open_shared_library(folder / kPlugin);
  }
  throw input_error(std::string("reading TorchScript needs ") + kPlugin +
                        ", which is neither beside the program nor in its library folder",
                    {"install fxtrace with cmake --install, or again"});
}

void* plugin(const Listener& listener) {
  static void* const opened = open_plugin(listener);  // once it is there; an exception means to try again
  return opened;
}

// The function of that name in the plugin, which is opened for the first of them.
template <class Function>
Function find_function(const char* name, const Listener& listener) {
  const auto function = reinterpret_cast<Function>(::dlsym(plugin(listener), name));
  if (function == nullptr) {
    throw input_error(std::string(kPlugin) + " does not belong to this build of fxtrace",
                      {"install both from the same build"});
  }
  return function;
}

}  // namespace

void set_plugin_folder(const std::filesystem::path& folder) { given_folder() = folder; }

void load_torchscript_plugin(const Listener& listener) { plugin(listener); }

void open_torchscript(const TraceOptions& options, const Listener& listener) {
  find_function<decltype(&fxtrace_open_torchscript)>("fxtrace_open_torchscript", listener)(options);
}

TraceResult trace_torchscript(const ModelFile& file, const FileInfo& info, const TraceOptions& options,
                              const Wanted& wanted, const Listener& listener) {
  TraceResult result;
  find_function<decltype(&fxtrace_trace_torchscript)>("fxtrace_trace_torchscript", listener)(
      file, info, options, wanted, listener, result);
  return result;
}

}  // namespace fxtrace
