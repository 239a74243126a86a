#include "pipelines/libtorch/operator_libraries.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <dlfcn.h>

#include "execute/plugin.h"
#include "fxtrace/plugin_folder.h"
#include "pipelines/libtorch/libtorch.h"
#include "pipelines/libtorch/shared_library.h"
#include "support/error.h"
#include "support/text/number_in.h"

namespace fxtrace::internal {
namespace {

// The plugin for torch of the series 2.13 is libfxtrace_execute-2.13.so.
constexpr std::string_view kPluginBegin = "libfxtrace_execute-";
constexpr std::string_view kPluginEnd = ".so";
// The features that need the plugin.
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

// Orders series: "2.9" is before "2.10", and that before "3.0".
bool is_older(const std::string& a, const std::string& b) {
  const auto numbers = [](const std::string& series) {
    const std::size_t point = std::min(series.find('.'), series.size());
    return std::pair(number_in<int>(series.substr(0, point)),
                     number_in<int>(series.substr(std::min(point + 1, series.size()))));
  };
  return numbers(a) < numbers(b);
}

// Returns the series of torch for which a folder has plugins, the newest last.
std::vector<std::string> series_in(const std::filesystem::path& folder) {
  std::vector<std::string> series;
  std::error_code failed;
  for (std::filesystem::directory_iterator it(folder, failed), end; !failed && it != end;
       it.increment(failed)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with(kPluginBegin) || !name.ends_with(kPluginEnd)) continue;
    series.push_back(name.substr(kPluginBegin.size(), name.size() - kPluginBegin.size() - kPluginEnd.size()));
  }
  std::ranges::sort(series, is_older);
  return series;
}

// The first folder that has plugins.
struct Plugins {
  std::filesystem::path folder;
  std::vector<std::string> series;
};

Plugins find_plugins() {
  for (const auto& folder : plugin_folders()) {
    if (auto series = series_in(folder); !series.empty()) return {folder, std::move(series)};
  }
  return {};
}

void* open_plugin(const Listener& listener, const std::string& user) {
  if (const auto [folder, series] = find_plugins(); !series.empty()) {
    const std::string fitting = open_libtorch(series, folder, listener, user);
    return open_shared_library(folder / (std::string(kPluginBegin) + fitting + std::string(kPluginEnd)),
                               user);
  }
  std::vector<std::string> hints{
      "wheels and Debian packages of a release have it; a build has it if it finds LibTorch, which "
      "scripts/setup --libtorch downloads in the clone"};
  if (user == kOpLibrary) hints.emplace_back("--op-schema declares operators without it");
  throw input_error("this fxtrace has no plugin for LibTorch, which " + user + " needs", std::move(hints));
}

void* plugin(const Listener& listener, const std::string& user) {
  static void* const opened =
      open_plugin(listener, user);  // once; after an exception the next call tries again
  return opened;
}

Error other_build() {
  return input_error("the plugin for LibTorch does not belong to this build of fxtrace",
                     {"install both from the same build"});
}

template <class Function>
Function function_of_plugin(const Listener& listener, const char* name, const char* user) {
  const auto function = reinterpret_cast<Function>(::dlsym(plugin(listener, user), name));
  if (function == nullptr) throw other_build();
  return function;
}

}  // namespace

std::vector<std::string> plugin_series() { return find_plugins().series; }

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
  for (const auto& library : libraries) {
    // The loader would wait for the writer of a pipe.  A name without a folder may be found elsewhere.
    std::error_code failed;
    if (std::filesystem::exists(library, failed) && !std::filesystem::is_regular_file(library, failed))
      throw usage_error("--op-library: " + library + " is not a regular file");
    paths.push_back(library.c_str());
  }
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

}  // namespace fxtrace::internal

void fxtrace::set_plugin_folder(const std::filesystem::path& folder) { internal::given_folder() = folder; }
