#include "pipelines/libtorch/operator_libraries.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "execute/plugin.h"
#include "fxtrace/plugin_folder.h"
#include "support/error.h"
#include "support/text/did_you_mean.h"
#include "support/text/numbers.h"
#include "support/text/words.h"

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

namespace {

namespace fs = std::filesystem;

constexpr char kLibrary[] = "libtorch_cpu.so";
constexpr char kVariable[] = "FXTRACE_LIBTORCH";

// A LibTorch that could be opened.
struct Candidate {
  fs::path folder;      // the folder with the libraries
  std::string where;    // for messages: "the torch beside the program"
  std::string version;  // "2.13.0+cpu"; empty when unknown

  // Returns "2.13".
  std::string series() const {
    const std::size_t end = version.find_first_not_of("0123456789", version.find('.') + 1);
    return version.substr(0, end);
  }
  // Returns the folder of the package, which is above a lib folder.
  fs::path package() const { return folder.filename() == "lib" ? folder.parent_path() : folder; }
};

bool is_there(const fs::path& path) {
  std::error_code failed;
  return fs::exists(path, failed);
}

// Returns the text between two `quote`s behind `name` in a small file.
std::string quoted_behind(const std::string& name, char quote, const fs::path& path) {
  constexpr std::size_t kMost = 1 << 14;
  std::ifstream file(path, std::ios::binary);
  std::string text(kMost, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  const std::size_t start = text.find(name + quote);
  if (start == std::string::npos) return {};
  const std::size_t from = start + name.size() + 1;
  const std::size_t end = text.find(quote, from);
  return end == std::string::npos ? std::string() : text.substr(from, end - from);
}

std::string version_of(const Candidate& candidate) {
  const std::string python = quoted_behind("__version__ = ", '\'', candidate.package() / "version.py");
  if (!python.empty()) return python;
  return quoted_behind("PACKAGE_VERSION ", '"',
                       candidate.package() / "share/cmake/Torch/TorchConfigVersion.cmake");
}

// Returns the LibTorch in a torch package, or in its lib folder.
std::optional<Candidate> find_in(const fs::path& folder, const std::string& where) {
  for (const fs::path& lib : {folder / "lib", folder}) {
    if (!is_there(lib / kLibrary)) continue;
    Candidate candidate{lib, where, {}};
    candidate.version = version_of(candidate);
    return candidate;
  }
  return std::nullopt;
}

std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::error_code failed;
  std::vector<fs::path> entries;
  for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
    entries.push_back(it->path());
  }
  std::ranges::sort(entries);
  return entries;
}

// Returns the package folders of all Pythons below a prefix.
std::vector<fs::path> package_folders(const fs::path& prefix) {
  std::vector<fs::path> folders;
  // Debian's pip puts packages that root installs for /usr/bin/python3 into /usr/local.
  for (const char* lib : {"lib", "lib64", "local/lib"}) {
    for (const fs::path& python : sorted_entries(prefix / lib)) {
      if (!python.filename().string().starts_with("python3")) continue;
      folders.insert(folders.end(), {python / "site-packages", python / "dist-packages"});
    }
  }
  return folders;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

// Returns the first python3 that a shell would run; it is not run here.
fs::path python_of_path() {
  const std::string folders = variable("PATH");
  std::istringstream rest(folders);
  for (std::string folder; std::getline(rest, folder, ':');) {
    if (const fs::path python = fs::path(folder) / "python3";
        fs::path(folder).is_absolute() && is_there(python))
      return python;
  }
  return {};
}

// Returns the candidates in the order of preference.
std::vector<Candidate> candidates(const fs::path& plugin_folder) {
  std::vector<Candidate> found;
  const auto look_in = [&](const fs::path& folder, const std::string& where) {
    if (const auto candidate = find_in(folder, where)) found.push_back(*candidate);
  };
  std::string built_with;
  std::ifstream file(plugin_folder / kLibTorchFolderFile);
  if (std::getline(file, built_with) && !built_with.empty())
    look_in(built_with, "the torch that it was built with");
  const auto look_below = [&](const fs::path& prefix, const std::string& where) {
    if (prefix.empty()) return;
    for (const fs::path& packages : package_folders(prefix)) look_in(packages / "torch", where);
  };
  look_below(own_folder().parent_path(), "the torch beside it");
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    look_below(variable(name), "the torch of " + std::string(name));
  const fs::path python = python_of_path();
  std::error_code failed;
  // The python3 of a virtual environment is a link to another one, whose packages it may see too.
  for (const fs::path& one : {python, fs::canonical(python, failed)}) {
    look_below(one.parent_path().parent_path(), "the torch of " + python.string());
  }
  if (const fs::path home = variable("HOME"); !home.empty())
    look_below(home / ".local", "the torch of the user");
  return found;
}

// The feature that needs LibTorch, and the series for which there are plugins.
struct Need {
  std::string_view user;
  const std::vector<std::string>& series;
  std::string pip = "'torch==" + series.back() + ".*'";

  bool fits(const Candidate& candidate) const {
    if (candidate.version.empty()) return series.size() == 1;
    return std::ranges::find(series, candidate.series()) != series.end();
  }
  std::string text() const { return std::string(user) + " needs torch " + listed(series, " or "); }
};

Error wrong_version(const Candidate& candidate, const Need& need) {
  const std::string version = candidate.version.empty() ? "of an unknown version" : candidate.version;
  return input_error(
      need.text() + ", and " + candidate.where + ", " + candidate.package().string() + ", is " + version,
      {"pip install " + need.pip + ", or let " + kVariable + " name the folder of such a torch package"});
}

// Returns a hint how to get LibTorch, depending on how the program was installed.
std::string way_to_libtorch(const Need& need) {
  const std::string other = "; " + std::string(kVariable) + " names the folder of another torch package";
  const fs::path folder = own_folder();
  if (is_there(folder.parent_path() / "CMakeCache.txt"))
    return "scripts/setup --libtorch gets it, and fxtrace finds it when it is built again" + other;
  for (const fs::path& packages : package_folders(folder.parent_path())) {
    if (!is_there(packages / "fxtrace")) continue;
    return shell_word((folder / "python3").string()) + " -m pip install " + need.pip +
           " puts it beside fxtrace" + other;
  }
  return "pip install --target DIR " + need.pip + " gets it, and " + kVariable + "=DIR/torch names it";
}

void say(const Candidate& candidate, const Listener& listener) {
  const std::string version = candidate.version.empty() ? "" : " " + candidate.version;
  listener.progress("LibTorch" + version + " of " + candidate.folder.string() + ", " + candidate.where);
}

void open(const Candidate& candidate, const Listener& listener, std::string_view user) {
  say(candidate, listener);
  // Opens the libc10.so beside it first: by name, LD_LIBRARY_PATH could give another one.
  if (is_there(candidate.folder / "libc10.so")) open_shared_library(candidate.folder / "libc10.so", user);
  open_shared_library(candidate.folder / kLibrary, user);
}

// Returns the candidate for a library that the loader has opened.
Candidate opened(void* library, const std::string& where, const Need& need) {
  Candidate candidate{file_of_library(library).parent_path(), where, {}};
  candidate.version = version_of(candidate);
  if (!need.fits(candidate)) throw wrong_version(candidate, need);
  return candidate;
}

Candidate find_and_open(const Need& need, const fs::path& plugin_folder, const Listener& listener) {
  if (void* library = ::dlopen(kLibrary, RTLD_NOW | RTLD_NOLOAD)) {
    Candidate candidate = opened(library, "the torch that this process has loaded", need);
    say(candidate, listener);
    return candidate;
  }
  if (const std::string given = variable(kVariable); !given.empty()) {
    auto candidate = find_in(fs::absolute(given), kVariable);
    if (!candidate) {
      throw input_error(std::string(kVariable) + " is " + given + ", where there is no " + kLibrary,
                        {"it names the folder of a torch package, or its lib folder"});
    }
    if (!need.fits(*candidate)) throw wrong_version(*candidate, need);
    open(*candidate, listener, need.user);
    return *candidate;
  }
  const auto all = candidates(plugin_folder);
  const auto fitting =
      std::ranges::find_if(all, [&](const Candidate& candidate) { return need.fits(candidate); });
  if (fitting != all.end()) {
    open(*fitting, listener, need.user);
    return *fitting;
  }
  if (void* library = open_shared_library(kLibrary, need.user)) {
    Candidate candidate = opened(library, "the torch that the system's loader finds", need);
    say(candidate, listener);
    return candidate;
  }
  if (!all.empty()) throw wrong_version(all.front(), need);
  throw input_error(need.text() + ", and there is none where fxtrace looks for it", {way_to_libtorch(need)});
}

}  // namespace

std::string open_libtorch(const std::vector<std::string>& series, const fs::path& plugin_folder,
                          const Listener& listener, std::string_view user) {
  const Candidate candidate = find_and_open(Need{user, series}, plugin_folder, listener);
  return candidate.version.empty() ? series.back() : candidate.series();
}

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
