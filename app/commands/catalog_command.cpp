// `fxtrace catalog`: reads many models, each in a sandboxed process of its own, into one SQLite database.
// Each process writes a content key and then rows (catalog/model_rows.h); this process adds them to the
// database.  A file with the size and time of the last run is not read again; one with the same content key
// is read, but not traced again.
#include "app/commands/commands.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include "app/cli.h"
#include "app/commands/catalog_merge.h"
#include "app/options/catalog_files.h"
#include "app/options/operator_sets.h"
#include "app/options/option_checks.h"
#include "app/options/trace_options.h"
#include "app/output/files.h"
#include "app/process/isolation.h"
#include "app/process/model_processes.h"
#include "archive/content_check.h"
#include "catalog/database.h"
#include "catalog/model_rows.h"
#include "operators/operators.h"
#include "opinfo/traits.h"
#include "pipelines/answers/catalog_rows.h"
#include "pipelines/configs.h"
#include "pipelines/read_model.h"

namespace fxtrace::internal::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxKey = 128;  // characters of a content key

struct CatalogArguments : ModelArguments {
  CatalogFileArguments files;
  std::vector<std::string> backends;
  std::string output;
  std::int64_t jobs = 0;  // 0: one per core
  bool merges = false, verify_content = false;
};

// A file in memory, mapped to read its bytes.
class Mapped {
 public:
  explicit Mapped(const Descriptor& file) {
    struct stat status{};
    if (::fstat(file.number(), &status) != 0 || status.st_size == 0) return;
    size_ = static_cast<std::size_t>(status.st_size);
    bytes_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.number(), 0);
    if (bytes_ == MAP_FAILED) size_ = 0;
  }
  ~Mapped() {
    if (size_ != 0) ::munmap(bytes_, size_);
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  std::string_view text() const { return {static_cast<const char*>(bytes_), size_}; }

 private:
  void* bytes_ = nullptr;
  std::size_t size_ = 0;
};

// A progress line on a terminal, which is overwritten.
class Progress {
 public:
  Progress(std::size_t files, Console& console)
      : files_(files), console_(console), shows_(console.owns_process() && ::isatty(STDERR_FILENO) == 1) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void tell(std::size_t done, std::int64_t failed) {
    const auto now = Clock::now();
    if (!shows_ || done == 0 || now - told_ < std::chrono::milliseconds(100)) return;
    told_ = now;
    clear();
    const double seconds = std::chrono::duration<double>(now - start_).count();
    const double rate = static_cast<double>(done) / seconds;
    std::ostringstream line;
    constexpr std::size_t kWidth = 24;
    const std::size_t filled = kWidth * done / files_;
    line << "[" << std::string(filled, '#') << std::string(kWidth - filled, ' ') << "] " << done << " of "
         << files_;
    line.precision(rate < 10 ? 1 : 0);
    line << std::fixed << ", " << rate << "/s, ";
    line.precision(0);
    line << static_cast<double>(files_ - done) / rate << " s left";
    if (failed > 0) line << ", " << failed << " not read";
    console_.err() << line.view() << std::flush;
    is_told_ = true;
  }
  void clear() {
    if (is_told_) console_.err() << "\r\033[K" << std::flush;
    is_told_ = false;
  }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;

  std::size_t files_;
  Console& console_;
  bool shows_, is_told_ = false;
  Clock::time_point start_ = Clock::now(), told_ = start_;
};

class CatalogRun {
 public:
  CatalogRun(const CatalogArguments& arguments, const Config& config, std::vector<Rule> backends,
             CatalogFiles files, Console& console)
      : config_(config),
        backends_(std::move(backends)),
        files_(std::move(files)),
        console_(console),
        seconds_(arguments.isolation.seconds()),
        verifies_content_(arguments.verify_content),
        catalog_(arguments.output, settings_of(config, backends_, arguments.verify_content)),
        processes_(arguments.isolation, console, jobs_of(arguments)),
        progress_(files_.size(), console) {}

  void read_all() {
    // Makes tables of first use once, before the forks, and not in the process of each model.
    traits_of(&registered_operators().front());
    for (std::size_t i = 0; i < files_.size(); ++i) {
      while (processes_.is_full()) take(processes_.wait());
      begin(i);
      progress_.tell(done_, failed_);
    }
    while (!processes_.is_empty()) take(processes_.wait());
  }

  // Removes the rows of files that were in these folders and are gone.
  void remove_missing(const std::vector<std::string>& folders) {
    if (folders.empty()) return;
    removed_ = catalog_.remove_unless([&](const std::string& file) {
      if (files_.contains(file)) return true;
      const auto holds = [&](const std::string& folder) {
        return file.starts_with(folder.ends_with('/') ? folder : folder + "/");
      };
      std::error_code ignored;
      return std::ranges::none_of(folders, holds) || fs::exists(file, ignored);
    });
  }
  void commit() { catalog_.commit(); }

  void tell() {
    progress_.clear();
    std::string text = std::to_string(files_.size()) + (files_.size() == 1 ? " file: " : " files: ") +
                       std::to_string(read_) + " read";
    if (unchanged_ > 0) text += ", " + std::to_string(unchanged_) + " unchanged";
    if (failed_ > 0) text += ", " + std::to_string(failed_) + " could not be read";
    if (removed_ > 0) text += ", " + std::to_string(removed_) + " no longer there";
    std::ostringstream seconds;
    seconds.precision(1);
    seconds << std::fixed << progress_.seconds();
    console_.note(text + ", in " + seconds.str() + " s");
    for (const std::string& error : errors_) console_.remark("note", error);
    if (failed_ > 0) console_.remark("hint", "SELECT path, error FROM models WHERE error IS NOT NULL");
  }
  bool has_failed() const { return failed_ > 0; }

 private:
  static std::size_t jobs_of(const CatalogArguments& arguments) {
    return arguments.jobs > 0 ? static_cast<std::size_t>(arguments.jobs)
                              : std::max(1U, std::thread::hardware_concurrency());
  }
  void begin(std::size_t i) {
    const std::string name(files_[i].name);
    catalog::FileState& state = states_[i];
    try {
      InputFile input(std::string(files_[i].path), console_, seconds_);
      if (verifies_content_) input.verify_content();
      struct stat status{};
      if (::fstat(input.file().descriptor(), &status) != 0) status = {};
      constexpr std::int64_t kNanoseconds = 1'000'000'000;
      state.bytes = input.file().size();
      state.modified_ns = status.st_mtim.tv_sec * kNanoseconds + status.st_mtim.tv_nsec;
      const auto known = catalog_.find_file(name);
      if (known && known->bytes == state.bytes && known->modified_ns == state.modified_ns) {
        ++unchanged_;
        return count(i);
      }
      catalog_.number(name);
      const CatalogReading reading{config_, backends_, known ? known->content : ""};
      processes_.start(i, input, [&](Isolated& isolated, std::ostream& out) {
        write_catalog_rows(reading, input, isolated, out);
      });
    } catch (const Error& error) {
      add_error(i, error);
    }
  }

  void take(const ModelProcesses::Ended& ended) {
    const std::size_t i = ended.number;
    if (ended.failure) return add_error(i, *ended.failure);
    const Mapped product(ended.product);
    const std::string_view text = product.text();
    const std::size_t end = text.substr(0, kMaxKey).find('\n');
    const std::string name(files_[i].name);
    catalog::FileState& state = states_[i];
    try {
      if (end == std::string_view::npos) throw input_error("the process that read it wrote nothing");
      state.content = text.substr(0, end);
      const std::string_view rows = text.substr(end + 1);
      if (rows.empty()) {
        catalog_.touch(name, state);
        ++unchanged_;
      } else {
        const auto error = catalog_.add(name, state, rows);
        if (error) {
          note_error(i, *error);
        } else {
          ++read_;
        }
      }
      count(i);
    } catch (const Error& error) {
      if (error.place() == catalog_.file()) throw;
      add_error(i, error);
    }
  }

  void add_error(std::size_t i, const Error& error) {
    std::ostringstream text;
    catalog::RowWriter rows(text);
    write_error_row(error, "", rows);
    catalog_.add(std::string(files_[i].name), states_[i], text.view());
    note_error(i, error.what());
    count(i);
  }
  void note_error(std::size_t i, const std::string& message) {
    ++failed_;
    constexpr std::size_t kShown = 3;
    if (errors_.size() < kShown) errors_.push_back(std::string(files_[i].name) + ": " + message);
  }

  // Commits every second, so that little is lost when this process is killed.
  void count(std::size_t i) {
    states_.erase(i);
    ++done_;
    const auto now = std::chrono::steady_clock::now();
    if (now - committed_ < std::chrono::seconds(1)) return;
    committed_ = now;
    catalog_.commit();
  }

  const Config& config_;
  const std::vector<Rule> backends_;
  const CatalogFiles files_;
  std::unordered_map<std::size_t, catalog::FileState> states_;  // of files that are being read
  Console& console_;
  std::uint64_t seconds_;  // to wait for a named pipe
  bool verifies_content_;
  catalog::Catalog catalog_;
  ModelProcesses processes_;
  Progress progress_;
  std::size_t done_ = 0;
  std::int64_t read_ = 0, unchanged_ = 0, failed_ = 0, removed_ = 0;
  std::vector<std::string> errors_;  // the first ones
  std::chrono::steady_clock::time_point committed_ = std::chrono::steady_clock::now();
};

int run_catalog(const CatalogArguments& arguments, Console& console) {
  Config config = arguments.set_up(console);
  const bool is_strict = std::exchange(config.strict, false);
  if (arguments.merges) {
    const auto is_of_reading = [](const OptionRow& row) { return row.key != "strict"; };
    if (arguments.trace.any(is_of_reading))
      throw usage_error("--merge reads no models: options of a trace do not apply");
    if (arguments.files.paths.empty()) throw usage_error("--merge: expected catalogs as PATHs");
    const std::size_t failed =
        merge_catalogs(arguments.files.paths, arguments.output, arguments.isolation, console);
    return is_strict && failed > 0 ? kNegative : kDone;
  }
  std::vector<Rule> backends;
  for (const std::string& name : arguments.backends) {
    add_rule(backends, read_backend(name, console));
    static_cast<void>(set_of(backends.back()));  // a wrong set is told before any work
  }
  if (arguments.files.paths.empty() && arguments.files.lists.empty())
    throw usage_error("expected a PATH, or a list of files with --files-from");
  CatalogRun run(arguments, config, std::move(backends), CatalogFiles(arguments.files, console), console);
  run.read_all();
  run.remove_missing(arguments.files.paths);
  run.commit();
  run.tell();
  return is_strict && run.has_failed() ? kNegative : kDone;
}

}  // namespace

Command make_catalog_command(CLI::App& app) {
  auto arguments = std::make_shared<CatalogArguments>();
  app.description(
      app.get_description() +
      " PATH is a model, a collection, or a folder. Files that have not changed since the last run are not "
      "read again; a run that was interrupted continues where it was. A file that cannot be read is a row "
      "with its error.");
  app.footer(
      "  fxtrace catalog models/ -o models.sqlite\n"
      "  fxtrace catalog --merge first.sqlite second.sqlite -o models.sqlite\n"
      "  fxtrace query models.sqlite 'SELECT path, macs FROM models ORDER BY macs DESC LIMIT 10'\n");
  const char* group = "Catalog";
  add_last_value(app, group, "-o,--output", arguments->output, "FILE", "the database to create or to extend")
      ->required();
  CLI::Option* merges =
      app.add_flag(
             "--merge", arguments->merges,
             "the PATHs are catalogs, of which one is made: it has the rows that one run over all their "
             "files would have. Of a file in several, the latest counts, of equal ones the last")
          ->group(group);
  add_last_value(app, group, "--jobs", arguments->jobs, "N",
                 "the number of models read at a time. Default: the number of cores")
      ->check(integer_from(1));
  arguments->files.add_to(app, group);
  add_value(app, group, "--backend", arguments->backends, "SET|FILE",
            "what a backend takes of each model, in the table backends: a set as for --ops of fxtrace "
            "partition. Repeatable")
      ->allow_extra_args(false);
  app.add_flag(
         "--verify-content", arguments->verify_content,
         "make columns content from the bytes of weights, which are read, and not from the checksums in the "
         "archives; a file whose bytes do not match these is a row with that as its error")
      ->group(group);
  for (const char* name : {"--verify-content", "--jobs", "--files-from", "--shard", "--recursive",
                           "--no-recursive", "--include", "--backend"})
    merges->excludes(app.get_option(name));
  arguments->add_to(app);
  app.get_option("--strict")
      ->description(
          "fail for what could not be done, with the rest written: exit with code 1 if a file could not be read");
  return [arguments](Console& console) { return run_catalog(*arguments, console); };
}

}  // namespace fxtrace::internal::cli
