#include "app/commands/catalog_merge.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/cli.h"
#include "app/process/child_process.h"
#include "app/process/resource_limits.h"
#include "catalog/database.h"
#include "catalog/untrusted_database.h"
#include "support/descriptor_stream.h"

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

namespace {

// The process sends messages, each with its size in front: the settings, then a message for each file.

template <class T>
void put(std::string& to, T value) {
  std::array<char, sizeof(T)> bytes{};
  std::memcpy(bytes.data(), &value, sizeof(T));
  to.append(bytes.data(), bytes.size());
}
void put_text(std::string& to, std::string_view text) {
  put(to, std::uint64_t{text.size()});
  to += text;
}

// Takes values from bytes that are not trusted.
class Parts {
 public:
  explicit Parts(std::string_view message) : left_(message) {}
  std::string_view take(std::uint64_t size) {
    if (size > left_.size()) throw input_error("what the process that read it sent is cut off");
    const std::string_view part = left_.substr(0, static_cast<std::size_t>(size));
    left_.remove_prefix(part.size());
    return part;
  }
  template <class T>
  T number() {
    T value{};
    take(sizeof(T)).copy(reinterpret_cast<char*>(&value), sizeof(T));  // NOLINT: bytes of a number
    return value;
  }
  std::string text() { return std::string(take(number<std::uint64_t>())); }
  std::string_view rest() { return take(left_.size()); }

 private:
  std::string_view left_;
};

void send(std::string_view first, std::string_view second, std::ostream& out) {
  std::string size;
  put(size, std::uint64_t{first.size() + second.size()});
  out << size << first << second;
}

void send_all(const ModelFile& file, std::ostream& out) {
  catalog::CatalogReader reader(file);
  send(reader.settings(), {}, out);
  while (const auto rows = reader.next()) {
    std::string head;
    put_text(head, rows->path);
    put(head, rows->state.bytes);
    put(head, rows->state.modified_ns);
    put_text(head, rows->state.content);
    send(head, rows->rows, out);
  }
  out.flush();
}

catalog::FileRows rows_of(std::string_view message) {
  Parts parts(message);
  catalog::FileRows rows;
  rows.path = parts.text();
  rows.state.bytes = parts.number<std::uint64_t>();
  rows.state.modified_ns = parts.number<std::int64_t>();
  rows.state.content = parts.text();
  rows.rows = parts.rest();
  return rows;
}

}  // namespace

CatalogSource::CatalogSource(const std::string& name, const IsolationArguments& arguments, Console& console)
    : arguments_(arguments), input_(name, console, arguments.seconds()) {
  at_file(input_.file(), [&] {
    catalog::hold_for_reading(input_.file());
    if (!arguments.isolates() || !console.owns_process()) {
      here_.emplace(input_.file());
      settings_ = here_->settings();
      return;
    }
    start(console);
    auto settings = read_message();
    if (!settings) throw input_error("the process that read it wrote nothing");
    settings_ = std::move(*settings);
  });
}

CatalogSource::~CatalogSource() {
  if (process_) stop();
}

std::optional<catalog::FileRows> CatalogSource::next() {
  return at_file(input_.file(), [&] {
    std::optional<catalog::FileRows> rows;
    if (here_) {
      rows = here_->next();
    } else if (const auto message = read_message()) {
      rows = rows_of(*message);
    }
    if (rows && !last_.empty() && rows->path <= last_)
      throw input_error("this catalog is damaged: its files are not in the order of its index");
    if (rows) last_ = rows->path;
    return rows;
  });
}

void CatalogSource::start(Console& console) {
  auto [messages, write] = open_pipe();
  messages_ = std::move(messages);
#ifdef F_SETPIPE_SZ  // is only faster
  constexpr int kPipe = 1 << 20;
  ::fcntl(write.number(), F_SETPIPE_SZ, kPipe);
#endif
  const Descriptor nothing(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  bool is_sent = false;
  process_.emplace(arguments_, console);
  try {
    process_->start(
        nothing ? nothing.number() : STDERR_FILENO, {input_.file().descriptor(), write.number()},
        [&](Isolated& isolated) {
          isolated.all_is_open(false);
          DescriptorStream out(write.number());
          send_all(input_.file(), out);
          is_sent = true;
          return kDone;
        },
        [&] { return is_sent; });
  } catch (const Error&) {
    process_.reset();
    throw;
  }
}

// Returns the next message; nothing at the end.
std::optional<std::string> CatalogSource::read_message() {
  std::uint64_t size = 0;
  if (!fill(sizeof size)) {
    if (used_ < text_.size()) throw input_error("what the process that read it sent is cut off");
    return std::nullopt;
  }
  std::memcpy(&size, text_.data() + used_, sizeof size);
  if (arguments_.memory() != 0 && size > arguments_.memory())
    throw input_error("the rows of a file take more memory than they may", {"--max-memory MB allows more"});
  used_ += sizeof size;
  if (!fill(size)) throw input_error("what the process that read it sent is cut off");
  std::string message = text_.substr(used_, size);
  used_ += size;
  return message;
}

// Reads until text_ has as many bytes that were not used; returns whether there are so many.
bool CatalogSource::fill(std::size_t size) {
  constexpr std::size_t kPiece = std::size_t{1} << 18;
  while (text_.size() - used_ < size) {
    text_.erase(0, std::exchange(used_, 0));
    wait();
    const std::size_t before = text_.size();
    text_.resize(before + kPiece);
    ssize_t count = -1;
    do {
      count = ::read(messages_.number(), text_.data() + before, kPiece);
    } while (count < 0 && errno == EINTR);
    text_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count > 0) continue;
    if (!process_) return false;
    // The process has ended, or closed the pipe: why?
    int status = 0;
    while (::waitpid(process_->id(), &status, 0) < 0 && errno == EINTR) continue;
    auto failure = process_->failure(status);
    if (!failure) failure = process_->error();
    if (!failure && !process_->has_product()) failure = input_error("the process that read it failed");
    process_.reset();
    if (failure) throw Error(*failure);
    return false;
  }
  return true;
}

// Waits until there is something to read, in all as long as a process may take by the clock.
void CatalogSource::wait() {
  using Clock = std::chrono::steady_clock;
  const std::chrono::nanoseconds most =
      std::chrono::seconds(std::min<std::uint64_t>(arguments_.seconds_by_the_clock(), INT32_MAX / 1000));
  while (true) {
    pollfd waiting{messages_.number(), POLLIN, 0};
    const auto start = Clock::now();
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(most - waited_);
    const int pause = most.count() == 0 ? -1 : static_cast<int>(std::max<std::int64_t>(left.count(), 0));
    const int ready = ::poll(&waiting, 1, pause);
    waited_ += Clock::now() - start;
    if (ready > 0) return;
    if (ready < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category(), "poll");
    if (ready == 0) {
      const Error error = process_ ? process_->took_too_long() : input_error("it took too long");
      if (process_) stop();
      throw error;
    }
  }
}

void CatalogSource::stop() {
  ::kill(process_->id(), SIGKILL);
  while (::waitpid(process_->id(), nullptr, 0) < 0 && errno == EINTR) continue;
  process_.reset();
}

}  // namespace fxtrace::internal::cli
