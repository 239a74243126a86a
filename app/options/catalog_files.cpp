#include "app/options/catalog_files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <istream>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include <fnmatch.h>
#include <CLI/CLI.hpp>

#include "app/options/option_checks.h"
#include "support/hashes.h"
#include "support/text/numbers.h"

namespace fxtrace::internal::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUsualNames[] = {"*.pt", "*.pt2", "*.pth", "*.ts"};

bool is_included(const std::vector<std::string>& globs, const fs::path& file) {
  const std::string name = file.filename().string();
  const auto matches = [&](const std::string& glob) { return ::fnmatch(glob.c_str(), name.c_str(), 0) == 0; };
  return globs.empty() ? std::ranges::any_of(kUsualNames, matches) : std::ranges::any_of(globs, matches);
}

// Part `part` of `parts`, counted from 0.
struct Shard {
  std::uint64_t part = 0, parts = 1;

  // A name is in the same part whatever other files there are.
  bool has(std::string_view name) const {
    FnvHash hash;
    hash.add(name);
    return hash.value() % parts == part;
  }
};

std::optional<Shard> find_shard(std::string_view text) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  const auto part = number_in<std::uint64_t>(text.substr(0, slash));
  const auto parts = number_in<std::uint64_t>(text.substr(std::min(slash + 1, text.size())));
  if (!part || !parts || *part < 1 || *part > *parts) return std::nullopt;
  return Shard{*part - 1, *parts};
}

std::string read_list(std::istream& in, const std::string& name) {
  std::string text;
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  while (in) {
    const std::size_t before = text.size();
    text.resize(before + kPiece);
    in.read(text.data() + before, kPiece);
    text.resize(before + static_cast<std::size_t>(in.gcount()));
  }
  if (in.bad()) throw input_error("cannot read the list").at(name);
  return text;
}

}  // namespace

void CatalogFileArguments::add_to(CLI::App& app, const char* group) {
  app.add_option("PATH", paths, "model files, collections' JSON files, folders");
  add_value(
      app, group, "--files-from", lists, "LIST|-",
      "read the files that LIST names too, or stdin: one path a line, or PATH, a tab and the name that the "
      "catalog has for the file. One that is not there is a row with its error. Repeatable")
      ->allow_extra_args(false);
  add_last_value(app, group, "--shard", shard, "I/N",
                 "read only part I of N: the files whose names have this hash, whatever others there are")
      ->check([](const std::string& text) -> std::string {
        return find_shard(text) ? "" : "expected I/N with I from 1 to N, got '" + text + "'";
      });
  CLI::Option* all =
      app.add_flag_callback("--recursive", [this] { recursive = true; }, "read subfolders too; the default");
  all->group(group);
  app.add_flag_callback(
         "--no-recursive", [this] { recursive = false; }, "read only the files in PATH itself")
      ->group(group)
      ->excludes(all);
  add_value(app, group, "--include", include, "GLOB",
            "a glob over the names of files to read in folders; * matches any characters. Repeatable. "
            "Default: *.pt, *.pt2, *.pth, *.ts");
}

CatalogFiles::CatalogFiles(const CatalogFileArguments& arguments, Console& console) {
  if (std::ranges::count(arguments.lists, "-") > 1) throw usage_error("stdin can be only one of the lists");
  for (const std::string& path : arguments.paths) add_path(arguments, path, console);
  for (const std::string& list : arguments.lists) add_list(list, console);
  if (const auto shard = find_shard(arguments.shard))
    std::erase_if(files_, [&](const File& file) { return !shard->has(file.name); });
  std::ranges::stable_sort(files_, {}, &File::name);  // of equal names the first one counts
  const auto repeated = std::ranges::unique(files_, {}, &File::name);
  files_.erase(repeated.begin(), repeated.end());
}

bool CatalogFiles::contains(std::string_view name) const {
  return std::ranges::binary_search(files_, name, {}, &File::name);
}

// Folders that are symbolic links are not entered.
void CatalogFiles::add_path(const CatalogFileArguments& arguments, const std::string& path,
                            Console& console) {
  const auto add = [&](std::string file) {
    const std::string_view text = texts_.emplace_back(std::move(file));
    files_.push_back({text, text});
  };
  const auto look_at = [&](const fs::directory_entry& entry) {
    std::error_code failed;
    if (entry.is_regular_file(failed) && is_included(arguments.include, entry.path()))
      add(entry.path().string());
  };
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  if (!fs::exists(status)) throw input_error("no such file or directory").at(path);
  if (!fs::is_directory(status)) {
    add(path);
  } else if (arguments.recursive) {
    constexpr auto kOptions = fs::directory_options::skip_permission_denied;
    fs::recursive_directory_iterator at(path, kOptions, failed);
    for (; !failed && at != fs::recursive_directory_iterator(); at.increment(failed)) look_at(*at);
  } else {
    fs::directory_iterator at(path, failed);
    for (; !failed && at != fs::directory_iterator(); at.increment(failed)) look_at(*at);
  }
  if (failed) console.warning(path + ": " + failed.message());
}

void CatalogFiles::add_list(const std::string& list, Console& console) {
  if (list == "-") {
    texts_.push_back(read_list(console.in(), "stdin"));
  } else {
    errno = 0;
    std::ifstream file(list, std::ios::binary);
    if (!file) throw input_error(std::string("cannot open the list: ") + std::strerror(errno)).at(list);
    texts_.push_back(read_list(file, list));
  }
  std::string_view rest = texts_.back();
  while (!rest.empty()) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    const std::string_view path = line.substr(0, line.find('\t'));
    const std::string_view name = line.substr(std::min(path.size() + 1, line.size()));
    // "-" is a file here, not stdin.
    files_.push_back({name.empty() ? path : name, path == "-" ? std::string_view("./-") : path});
  }
}

}  // namespace fxtrace::internal::cli
