#include "app/commands/catalog_merge.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <sstream>
#include <utility>

#include <sys/stat.h>

#include "app/process/catalog_source.h"
#include "app/process/open_files.h"
#include "catalog/database.h"

namespace fxtrace::internal::cli {
namespace {

using Clock = std::chrono::steady_clock;

// The files of several catalogs, in the order of their paths, each once.
class Merge {
 public:
  Merge(const std::vector<std::string>& names, const IsolationArguments& isolation, Console& console) {
    allow_open_files(CatalogSource::kOpenFiles * names.size());
    for (const std::string& name : names) {
      const CatalogSource& source =
          *sources_.emplace_back(std::make_unique<CatalogSource>(name, isolation, console));
      catalog::check_settings(source.settings(), settings(), source.input().display());
    }
    heads_.resize(sources_.size());
    for (std::size_t i = 0; i < sources_.size(); ++i) advance(i);
  }

  const std::string& settings() const { return sources_.front()->settings(); }
  std::size_t repeated() const { return repeated_; }

  void check_not_among(const std::string& output) const {
    struct stat status{};
    if (::stat(output.c_str(), &status) != 0) return;
    const FileIdentity identity{status.st_dev, status.st_ino};
    for (const auto& source : sources_) {
      if (source->input().identity() == identity)
        throw usage_error("-o names a catalog that is merged", {"give -o another file name"}).at(output);
    }
  }

  std::optional<catalog::FileRows> next() {
    if (queue_.empty()) return std::nullopt;
    catalog::FileRows best = take();
    for (; !queue_.empty() && heads_[queue_.front()]->path == best.path; ++repeated_) {
      catalog::FileRows other = take();
      if (other.state.modified_ns >= best.state.modified_ns) best = std::move(other);
    }
    return best;
  }

 private:
  // Orders a heap whose first source has the first path, and of several with that path is the first.
  bool is_behind(std::size_t a, std::size_t b) const {
    return std::pair(std::string_view(heads_[a]->path), a) > std::pair(std::string_view(heads_[b]->path), b);
  }

  void advance(std::size_t source) {
    heads_[source] = sources_[source]->next();
    if (!heads_[source]) return;
    queue_.push_back(source);
    std::ranges::push_heap(queue_, [this](std::size_t a, std::size_t b) { return is_behind(a, b); });
  }

  catalog::FileRows take() {
    std::ranges::pop_heap(queue_, [this](std::size_t a, std::size_t b) { return is_behind(a, b); });
    const std::size_t source = queue_.back();
    queue_.pop_back();
    catalog::FileRows rows = std::move(*heads_[source]);
    advance(source);
    return rows;
  }

  std::vector<std::unique_ptr<CatalogSource>> sources_;
  std::vector<std::optional<catalog::FileRows>> heads_;  // the next file of each
  std::vector<std::size_t> queue_;                       // a heap of the sources that have one
  std::size_t repeated_ = 0;
};

}  // namespace

std::size_t merge_catalogs(const std::vector<std::string>& names, const std::string& output,
                           const IsolationArguments& isolation, Console& console) {
  const auto start = Clock::now();
  // All processes are forked before SQLite has memory that they would not have (keep_pages_from_forks()).
  Merge merge(names, isolation, console);
  merge.check_not_among(output);
  catalog::Catalog all(output, merge.settings(), catalog::OtherSettings::kRefuse);
  std::size_t files = 0, failed = 0, older = 0;
  auto committed = start;
  while (const auto rows = merge.next()) {
    ++files;
    const auto known = all.find_time(rows->path);
    if (known && *known > rows->state.modified_ns) {
      ++older;
      continue;
    }
    if (all.add(rows->path, rows->state, rows->rows)) ++failed;
    if (const auto now = Clock::now(); now - committed >= std::chrono::seconds(1)) {
      committed = now;
      all.commit();
    }
  }
  all.commit();
  std::ostringstream text;
  text << files << (files == 1 ? " file of " : " files of ") << names.size()
       << (names.size() == 1 ? " catalog" : " catalogs");
  if (merge.repeated() > 0) text << ", " << merge.repeated() << " more than once";
  if (older > 0) text << ", " << older << " older than in " << output;
  if (failed > 0) text << ", " << failed << " could not be read";
  text.precision(1);
  text << ", in " << std::fixed << std::chrono::duration<double>(Clock::now() - start).count() << " s";
  console.note(text.str());
  return failed;
}

}  // namespace fxtrace::internal::cli
