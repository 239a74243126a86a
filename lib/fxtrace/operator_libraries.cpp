#include "fxtrace/operator_libraries.h"

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <dlfcn.h>

#include "execute/plugin.h"
#include "fxtrace/libtorch.h"
#include "fxtrace/plugin_folder.h"
#include "fxtrace/shared_library.h"
#include "support/error.h"

namespace fxtrace {
namespace {

constexpr char kPlugin[] = "libfxtrace_execute.so";
// Who needs it.
constexpr char kOpLibrary[] = "--op-library";
constexpr char kVerify[] = "fxtrace verify";

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

void* open_plugin(const Listener& listener, const std::string& user) {
  if (std::string(FXTRACE_TORCH_SERIES).empty()) {
    std::vector<std::string> hints{
        "in the clone, scripts/setup --libtorch gets it; then scripts/demo, pip install . or the commands of "
        "docs/installing.md build fxtrace with it"};
    if (user == kOpLibrary) hints.emplace_back("--op-schema declares operators without it");
    throw input_error("this fxtrace was built without LibTorch, which " + user + " needs", std::move(hints));
  }
  for (const auto& folder : plugin_folders()) {
    std::error_code failed;
    if (!std::filesystem::exists(folder / kPlugin, failed)) continue;
    open_libtorch(folder, listener, user);
    return open_shared_library(folder / kPlugin, user);
  }
  throw input_error(
      user + " needs " + kPlugin + ", which is neither beside the program nor in its library folder",
      {"install fxtrace with cmake --install, or again"});
}

void* plugin(const Listener& listener, const std::string& user) {
  static void* const opened =
      open_plugin(listener, user);  // once it is there; an exception means to try again
  return opened;
}

Error other_build() {
  return input_error(std::string(kPlugin) + " does not belong to this build of fxtrace",
                     {"install both from the same build"});
}

template <class Function>
Function function_of_plugin(const Listener& listener, const char* name, const char* user) {
  const auto function = reinterpret_cast<Function>(::dlsym(plugin(listener, user), name));
  if (function == nullptr) throw other_build();
  return function;
}

}  // namespace

void set_plugin_folder(const std::filesystem::path& folder) { given_folder() = folder; }

void open_execute_plugin(const Listener& listener, const std::string& user) { plugin(listener, user); }

const FxtraceEngine& open_engine(const Listener& listener) {
  const auto engine_of = function_of_plugin<decltype(&fxtrace_engine)>(listener, "fxtrace_engine", kVerify);
  const FxtraceEngine* engine = engine_of(sizeof(FxtraceEngine));
  if (engine == nullptr) throw other_build();
  if (!engine->prepare())
    throw input_error(std::string("LibTorch cannot run models here: ") + engine->failure());
  return *engine;
}

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
  const auto load =
      function_of_plugin<decltype(&fxtrace_load_operators)>(listener, "fxtrace_load_operators", kOpLibrary);
  if (const char* failure = load(paths.data(), paths.size(), declare, &registered))
    throw usage_error(std::string("--op-library: ") + failure);
  return registered;
}

}  // namespace fxtrace
