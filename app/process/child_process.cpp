#include "app/process/child_process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstring>
#include <iostream>
#include <string_view>
#include <system_error>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/error.h"
#include "support/system.h"
#include "support/text/numbers.h"
#include "support/text/unicode.h"

namespace fxtrace::internal::cli {
namespace {

constexpr auto kFirst = std::chrono::milliseconds(1'000);
constexpr auto kPause = std::chrono::milliseconds(200);
constexpr char kClear[] = "\r\033[K";

}  // namespace

ByteProgress::ByteProgress(std::string what) : what_(std::move(what)), shows_(::isatty(STDERR_FILENO) == 1) {}

void ByteProgress::show(std::uint64_t bytes) {
  const auto now = Clock::now();
  if (!shows_ || bytes == 0 || now - told_ < (was_told_ ? kPause : kFirst)) return;
  told_ = now;
  is_told_ = was_told_ = true;
  std::cerr << kClear << what_ << ": " << bytes_text(static_cast<std::int64_t>(bytes)) << std::flush;
}

void ByteProgress::clear() {
  if (is_told_) std::cerr << kClear << std::flush;
  is_told_ = false;
}

namespace {

// Closes the descriptors from `first` to `last` where close_at_once() cannot.
void close_one_by_one(unsigned first, unsigned last) {
  constexpr unsigned kMost = 1U << 20;
  std::vector<unsigned> open;
  if (DIR* const folder = ::opendir(kOwnDescriptors)) {
    while (const dirent* entry = ::readdir(folder)) {
      unsigned number = 0;
      const char* const end = entry->d_name + std::strlen(entry->d_name);
      if (std::from_chars(entry->d_name, end, number).ptr == end && entry->d_name != end)
        open.push_back(number);
    }
    ::closedir(folder);
    for (const unsigned number : open) {
      if (number >= first && number <= last) ::close(static_cast<int>(number));
    }
    return;
  }
  for (unsigned number = first; number <= std::min(last, kMost); ++number) ::close(static_cast<int>(number));
}

void close_range(unsigned first, unsigned last) {
  if (first <= last && !close_at_once(first, last)) close_one_by_one(first, last);
}

void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t size = ::write(STDERR_FILENO, text.data(), text.size());
    if (size < 0 && errno != EINTR) return;
    if (size > 0) text.remove_prefix(static_cast<std::size_t>(size));
  }
}

}  // namespace

void close_others(std::vector<int> kept) {
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO}) {
    if (nothing >= 0 && std::ranges::find(kept, standard) == kept.end()) ::dup2(nothing, standard);
  }
  if (nothing > STDERR_FILENO && std::ranges::find(kept, nothing) == kept.end()) ::close(nothing);
  kept.push_back(STDERR_FILENO);
  std::ranges::sort(kept);
  unsigned from = STDERR_FILENO + 1;
  for (const int descriptor : kept) {
    const auto number = static_cast<unsigned>(descriptor);
    if (number > from) close_range(from, number - 1);
    from = std::max(from, number + 1);
  }
  close_range(from, ~0U);
}

Pipe open_pipe() {
  std::array<int, 2> ends{};
  if (!make_pipe(ends)) {
    const int code = errno;
    std::vector<std::string> hints;
    if (code == EMFILE) hints = {"a larger `ulimit -n` allows more"};
    throw input_error(std::string("cannot make a pipe: ") + std::strerror(code), hints);
  }
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

Messages::Messages(bool colour) : pipe_(open_pipe()), colour_(colour) {}

void Messages::begin() {
  pipe_.write = Descriptor();
  ::fcntl(pipe_.read.number(), F_SETFL, O_NONBLOCK);
}

bool Messages::copy() {
  constexpr std::size_t kMaxLine = std::size_t{64} << 10;
  constexpr int kReads =
      64;  // a child that writes without end must not keep the parent from checking the time
  std::array<char, 16'384> bytes{};
  for (int reads = 0; reads < kReads; ++reads) {
    const ssize_t size = ::read(pipe_.read.number(), bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return size < 0 && errno == EAGAIN;
    line_.append(bytes.data(), static_cast<std::size_t>(size));
    std::size_t from = 0;
    for (std::size_t at = line_.find('\n'); at != std::string::npos; at = line_.find('\n', from)) {
      show(std::string_view(line_).substr(from, at - from));
      from = at + 1;
    }
    line_.erase(0, from);
    if (line_.size() > kMaxLine) {
      show(line_);
      line_.clear();
    }
  }
  return true;
}

void Messages::end() {
  copy();
  if (!line_.empty()) show(line_);
  line_.clear();
}

void Messages::show(std::string_view line) {
  if (said_ > kMaxBytes) return;
  std::string text;
  while (!line.empty()) {
    std::size_t next = line.find('\033', 1);
    bool is_colour = false;
    for (const std::string_view code : {"\033[0m", "\033[2m", "\033[1;31m", "\033[1;33m"}) {
      if (!colour_ || !line.starts_with(code)) continue;
      is_colour = true;
      next = code.size();
    }
    const std::string_view part = line.substr(0, next);
    text += is_colour ? std::string(part) : printable(part);
    line.remove_prefix(part.size());
  }
  said_ += text.size() + 1;
  if (said_ > kMaxBytes) text = "fxtrace: warning: the rest of the messages is left out";
  if (colour_) text += text.ends_with("\033[0m") || text.find('\033') == std::string::npos ? "" : "\033[0m";
  write_all(text + "\n");
}

std::optional<int> wait_for(pid_t child, std::uint64_t seconds, Messages* messages, Watch* watch) {
  using Clock = std::chrono::steady_clock;
  using std::chrono::milliseconds;
  const Descriptor handle = end_of(child);  // without one the child is polled
  constexpr milliseconds kPause(10), kWatchPause(200);
  const auto end = Clock::now() + std::chrono::seconds(std::min<std::uint64_t>(seconds, INT32_MAX));
  bool has_messages = messages != nullptr;
  for (;;) {
    int status = 0;
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category(), "waitpid");
    if (ended == child) {
      if (watch != nullptr) watch->progress.clear();
      if (messages != nullptr) messages->end();
      return status;
    }
    auto pause = seconds == 0 ? milliseconds(-1) : std::chrono::ceil<milliseconds>(end - Clock::now());
    if (seconds != 0 && pause <= milliseconds(0)) {
      ::kill(child, SIGKILL);
      while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
      if (messages != nullptr) messages->end();
      return std::nullopt;
    }
    if (!handle && (pause < milliseconds(0) || pause > kPause)) pause = kPause;
    if (watch != nullptr && watch->progress.shows()) {
      watch->progress.show(watch->bytes());
      if (pause < milliseconds(0) || pause > kWatchPause) pause = kWatchPause;
    }
    std::array<pollfd, 2> waiting{pollfd{handle ? handle.number() : -1, POLLIN, 0},
                                  pollfd{has_messages ? messages->number() : -1, POLLIN, 0}};
    const auto limit = static_cast<int>(std::min<std::int64_t>(pause.count(), INT32_MAX));
    if (::poll(waiting.data(), waiting.size(), limit) < 0 && errno != EINTR) {
      throw std::system_error(errno, std::generic_category(), "poll");
    }
    if (has_messages && waiting[1].revents != 0) {
      if (watch != nullptr) watch->progress.clear();
      has_messages = messages->copy();
    }
  }
}

}  // namespace fxtrace::internal::cli
