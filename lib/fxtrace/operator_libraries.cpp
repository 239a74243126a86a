#include "fxtrace/operator_libraries.h"

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <dlfcn.h>

#include "execute/plugin.h"
#include "fxtrace/libtorch.h"
#include "fxtrace/own_folder.h"
#include "fxtrace/plugin_folder.h"
#include "fxtrace/shared_library.h"
#include "support/error.h"

namespace fxtrace {
namespace {

constexpr char kPlugin[] = "libfxtrace_execute.so";

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
    throw input_error("this fxtrace was built without LibTorch, which --op-library needs",
                      {"build it with -DFXTRACE_EXECUTE=ON, or declare the operators with --op-schema"});
  }
  for (const auto& folder : plugin_folders()) {
    std::error_code failed;
    if (!std::filesystem::exists(folder / kPlugin, failed)) continue;
    open_libtorch(folder, listener);
    return open_shared_library(folder / kPlugin);
  }
  throw input_error(std::string("--op-library needs ") + kPlugin +
                        ", which is neither beside the program nor in its library folder",
                    {"install fxtrace with cmake --install, or again"});
}

void* plugin(const Listener& listener) {
  static void* const opened = open_plugin(listener);  // once it is there; an exception means to try again
  return opened;
}

}  // namespace

void set_plugin_folder(const std::filesystem::path& folder) { given_folder() = folder; }

void open_execute_plugin(const Listener& listener) { plugin(listener); }

RegisteredOperators load_operators(const std::vector<std::string>& libraries, const Listener& listener) {
  std::vector<const char*> paths;
  for (const auto& library : libraries) paths.push_back(library.c_str());
  RegisteredOperators registered;
  const FxtraceDeclare declare = [](void* context, const char* class_name, const char* schema) {
    auto& all = *static_cast<RegisteredOperators*>(context);
    if (*class_name == '\0') {
      all.schemas.emplace_back(schema);
    } else {
      all.methods.push_back({class_name, schema});
    }
  };
  const auto load = reinterpret_cast<decltype(&fxtrace_load_operators)>(
      ::dlsym(plugin(listener), "fxtrace_load_operators"));
  if (load == nullptr) {
    throw input_error(std::string(kPlugin) + " does not belong to this build of fxtrace",
                      {"install both from the same build"});
  }
  if (const char* failure = load(paths.data(), paths.size(), declare, &registered))
    throw usage_error(std::string("--op-library: ") + failure);
  return registered;
}

}  // namespace fxtrace
