#include "fxtrace/libtorch.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <dlfcn.h>

#include "fxtrace/shared_library.h"
#include "support/error.h"
#include "support/shell_word.h"

namespace fxtrace {
namespace {

namespace fs = std::filesystem;

constexpr char kLibrary[] = "libtorch_cpu.so";
constexpr char kVariable[] = "FXTRACE_LIBTORCH";
constexpr std::string_view kSeries = FXTRACE_TORCH_SERIES;  // "2.13"

// A LibTorch that could be opened.
struct Candidate {
  fs::path folder;      // with the libraries
  std::string where;    // for messages: "the torch beside the program"
  std::string version;  // "2.13.0+cpu"; empty where nothing says it

  bool fits() const {
    if (version.empty()) return true;
    const std::string_view rest = std::string_view(version).substr(std::min(kSeries.size(), version.size()));
    return version.starts_with(kSeries) && (rest.empty() || rest.front() < '0' || rest.front() > '9');
  }
  // A lib folder's package is the folder above.
  fs::path package() const { return folder.filename() == "lib" ? folder.parent_path() : folder; }
};

bool is_there(const fs::path& path) {
  std::error_code failed;
  return fs::exists(path, failed);
}

// What stands between `quote`s behind `name` in a small file.
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

// The LibTorch in a torch package, or in its lib folder.
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

// Of the Pythons beside the program.
std::vector<fs::path> package_folders() {
  std::vector<fs::path> folders;
  // local: Debian's pip puts what root installs for /usr/bin/python3 into /usr/local.
  const fs::path prefix = own_folder().parent_path();
  for (const char* lib : {"lib", "lib64", "local/lib"}) {
    for (const fs::path& python : sorted_entries(prefix / lib)) {
      if (!python.filename().string().starts_with("python3")) continue;
      folders.insert(folders.end(), {python / "site-packages", python / "dist-packages"});
    }
  }
  return folders;
}

// In the order in which they are asked.
std::vector<Candidate> candidates(const fs::path& plugin_folder) {
  std::vector<Candidate> found;
  const auto look_in = [&](const fs::path& folder, const std::string& where) {
    if (const auto candidate = find_in(folder, where)) found.push_back(*candidate);
  };
  std::string built_with;
  std::ifstream file(plugin_folder / kLibTorchFolderFile);
  if (std::getline(file, built_with) && !built_with.empty())
    look_in(built_with, "the torch that it was built with");
  for (const fs::path& packages : package_folders()) look_in(packages / "torch", "the torch beside it");
  return found;
}

Error wrong_version(const Candidate& candidate, std::string_view user) {
  return input_error(std::string(user) + " needs torch " + std::string(kSeries) + ", and " + candidate.where +
                         ", " + candidate.package().string() + ", is " + candidate.version,
                     {"pip install 'torch==" + std::string(kSeries) + ".*', or let " + kVariable +
                      " name the folder of such a torch package"});
}

// By the way in which the program was installed.
std::string way_to_libtorch() {
  const std::string torch = "'torch==" + std::string(kSeries) + ".*'";
  const std::string other = "; " + std::string(kVariable) + " names the folder of another torch package";
  const fs::path folder = own_folder();
  if (is_there(folder.parent_path() / "CMakeCache.txt"))
    return "scripts/setup --libtorch gets it, and fxtrace finds it when it is built again" + other;
  for (const fs::path& packages : package_folders()) {
    if (!is_there(packages / "fxtrace")) continue;
    return shell_word((folder / "python3").string()) + " -m pip install " + torch +
           " puts it beside fxtrace" + other;
  }
  return "pip install --target DIR " + torch + " gets it, and " + kVariable + "=DIR/torch names it";
}

void say(const Candidate& candidate, const Listener& listener) {
  const std::string version = candidate.version.empty() ? "" : " " + candidate.version;
  listener.progress("LibTorch" + version + " of " + candidate.folder.string() + ", " + candidate.where);
}

void open(const Candidate& candidate, const Listener& listener, std::string_view user) {
  say(candidate, listener);
  // The one beside it first: by name, LD_LIBRARY_PATH could give another.
  if (is_there(candidate.folder / "libc10.so")) open_shared_library(candidate.folder / "libc10.so", user);
  open_shared_library(candidate.folder / kLibrary, user);
}

// What the loader has opened.
Candidate opened(void* library, const std::string& where, std::string_view user) {
  Candidate candidate{file_of_library(library).parent_path(), where, {}};
  candidate.version = version_of(candidate);
  if (!candidate.fits()) throw wrong_version(candidate, user);
  return candidate;
}

}  // namespace

void open_libtorch(const fs::path& plugin_folder, const Listener& listener, std::string_view user) {
  if (void* library = ::dlopen(kLibrary, RTLD_NOW | RTLD_NOLOAD)) {
    return say(opened(library, "the torch that this process has loaded", user), listener);
  }
  if (const char* given = std::getenv(kVariable); given != nullptr && *given != '\0') {
    const auto candidate = find_in(fs::absolute(given), kVariable);
    if (!candidate) {
      throw input_error(std::string(kVariable) + " is " + given + ", where there is no " + kLibrary,
                        {"it names the folder of a torch package, or its lib folder"});
    }
    if (!candidate->fits()) throw wrong_version(*candidate, user);
    return open(*candidate, listener, user);
  }
  const auto all = candidates(plugin_folder);
  const auto fitting = std::ranges::find_if(all, [](const Candidate& candidate) { return candidate.fits(); });
  if (fitting != all.end()) return open(*fitting, listener, user);
  if (void* library = open_shared_library(kLibrary, user)) {
    return say(opened(library, "the torch that the system's loader finds", user), listener);
  }
  if (!all.empty()) throw wrong_version(all.front(), user);
  throw input_error(std::string(user) + " needs torch " + std::string(kSeries) +
                        ", and there is none where fxtrace looks for it",
                    {way_to_libtorch()});
}

}  // namespace fxtrace
