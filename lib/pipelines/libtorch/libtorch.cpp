#include "pipelines/libtorch/libtorch.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <dlfcn.h>

#include "pipelines/libtorch/shared_library.h"
#include "support/error.h"
#include "support/text/shell_word.h"
#include "support/text/words.h"

namespace fxtrace::internal {
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

}  // namespace fxtrace::internal
