#include "app/output/files.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iostream>
#include <optional>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/process/child_process.h"
#include "support/error.h"
#include "support/json_document.h"
#include "support/scope_guard.h"
#include "support/system.h"

namespace fxtrace::internal::cli {

void wait_until(const std::function<bool()>& is_ready, const Patience& patience) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kTold = std::chrono::seconds(2);
  const auto start = Clock::now();
  bool is_told = patience.console == nullptr;
  while (!is_ready()) {
    const auto waited = Clock::now() - start;
    if (patience.seconds != 0 && waited > std::chrono::seconds(patience.seconds)) {
      throw input_error("waited " + std::to_string(patience.seconds) + " s for " + patience.what,
                        {"--max-time SECONDS allows more"});
    }
    if (is_told || waited < kTold) continue;
    is_told = true;
    patience.console->note("waiting for " + patience.what);
  }
}

void wait_for_input(int descriptor, const Patience& patience) {
  constexpr int kPause = 100;  // milliseconds
  wait_until(
      [&] {
        pollfd one{descriptor, POLLIN, 0};
        return ::poll(&one, 1, kPause) > 0;  // also for an end or an error, which the read reports
      },
      patience);
}

namespace {

constexpr std::size_t kMaxSmallFile = 16'000'000;
constexpr const char* kStdin = "stdin";

std::string reason(int code) { return code == 0 ? "unknown reason" : std::strerror(code); }

// The largest size of input from a stream, by its first characters: a stream without end should neither fill
// the disk nor take long.
struct StreamLimit {
  std::uint64_t bytes;
  const char* what;
  const char* hint;
};

StreamLimit limit_of(std::string_view head) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (head.starts_with("PK"))
    return {std::uint64_t{64} << 30, "the input is larger than 64 GiB", "give the model by its file name"};
  if (head.starts_with(kByteOrderMark)) head.remove_prefix(kByteOrderMark.size());
  const std::size_t start = head.find_first_not_of(" \t\r\n");
  if (start != std::string_view::npos && (head[start] == '{' || head[start] == '['))
    return {JsonDocument::kMaxText, "the input is JSON of more than 1 GB", "a collection is smaller"};
  // No command reads anything else.  Up to this size it is identified as a file is, for a better message.
  return {
      std::uint64_t{256} << 20,
      "not a model: the input starts neither like a zip archive nor like JSON, and is larger than 256 MiB",
      "give the file by its name, and fxtrace says what it is"};
}

// Reads at most `size` bytes to `to`; returns their number, 0 at the end.
using Read = std::function<std::size_t(char* to, std::size_t size)>;

Read read_of(std::istream& in) {
  return [&in](char* to, std::size_t size) {
    errno = 0;
    in.read(to, static_cast<std::streamsize>(size));
    if (in.bad()) throw input_error("cannot read it: " + reason(errno));
    return static_cast<std::size_t>(in.gcount());
  };
}

Read read_of(int descriptor, const Patience& patience) {
  return [descriptor, patience](char* to, std::size_t size) {
    while (true) {
      wait_for_input(descriptor, patience);
      const ssize_t read = ::read(descriptor, to, size);
      if (read >= 0) return static_cast<std::size_t>(read);
      if (errno != EINTR && errno != EAGAIN) throw input_error("cannot read it: " + reason(errno));
    }
  };
}

// Copies all input to a temporary file without a name; `display` is for messages.
ModelFile spool(const Read& read, const std::string& display) {
  const char* folder = std::getenv("TMPDIR");
  std::string path = std::string(folder != nullptr && *folder != '\0' ? folder : "/tmp") + "/fxtrace.XXXXXX";
  const auto failed = [](const char* what) {
    return input_error(std::string(what) + reason(errno), {"TMPDIR names another folder for it"});
  };
  const Descriptor file(::mkostemp(path.data(), O_CLOEXEC));
  if (!file) throw failed("cannot create a temporary file: ");
  ::unlink(path.c_str());

  std::array<char, 1 << 16> buffer;
  std::optional<StreamLimit> limit;
  std::uint64_t total = 0;
  ByteProgress progress("reading stdin");
  while (std::size_t left = read(buffer.data(), buffer.size())) {
    const char* from = buffer.data();
    if (!limit) limit = limit_of({from, left});
    total += left;
    progress.show(total);
    if (total > limit->bytes) throw input_error(limit->what, {limit->hint});
    while (left > 0) {
      const ssize_t written = ::write(file.number(), from, left);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) throw failed("cannot write the temporary file: ");
      from += written;
      left -= static_cast<std::size_t>(written);
    }
  }
  // Opened anew, for reading only.
  const std::string own = kOwnDescriptors + ("/" + std::to_string(file.number()));
  return {Descriptor(::open(own.c_str(), O_RDONLY | O_CLOEXEC)), display};
}

}  // namespace

InputFile::InputFile(const std::string& name, Console& console, std::uint64_t seconds)
    : is_stdin_(name == "-") {
  try {
    open(name, console, seconds);
  } catch (Error& error) {
    error.at(is_stdin_ ? kStdin : name);
    throw;
  }
}

void InputFile::open(const std::string& name, Console& console, std::uint64_t seconds) {
  struct stat status{};
  if (is_stdin_) {
    if (&console.in() != &std::cin) {
      file_ = spool(read_of(console.in()), kStdin);
      return;
    }
    if (::fstat(STDIN_FILENO, &status) == 0) identity_ = {status.st_dev, status.st_ino};
    // What is on its way is no news in a script; whoever sits before a terminal may wonder.
    Console* told = ::isatty(STDERR_FILENO) == 1 ? &console : nullptr;
    constexpr std::uint64_t kClock = 10;  // as for a process (IsolationArguments::seconds_by_the_clock())
    file_ = spool(read_of(STDIN_FILENO, {kStdin, seconds * kClock, told}), kStdin);
    return;
  }
  if (::stat(name.c_str(), &status) == 0) {
    identity_ = {status.st_dev, status.st_ino};
    if (S_ISFIFO(status.st_mode)) {
      // Without O_NONBLOCK, this would wait for a writer.
      const Descriptor pipe(::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
      if (!pipe) throw input_error("cannot open the file: " + reason(errno));
      file_ = spool(read_of(pipe.number(), {name + " to be written", seconds, &console}), name);
      return;
    }
  }
  file_ = ModelFile(name);
}

std::string InputFile::base_name() const { return is_stdin_ ? "-" : file_->base_name(); }

std::string read_small_file(const std::string& path, Console& console) {
  std::string text = read_small_file(path);
  console.has_read(path);
  return text;
}

std::string read_small_file(const std::string& path) {
  const auto failed = [&](const std::string& what) { return usage_error(what).at(path); };
  struct stat status{};
  // stat() comes before open(), as opening has side effects on some devices.
  if (::stat(path.c_str(), &status) != 0) throw failed("cannot open the file: " + reason(errno));
  if (S_ISDIR(status.st_mode)) throw failed("this is a directory");
  const bool is_pipe = S_ISFIFO(status.st_mode);
  if (!S_ISREG(status.st_mode) && !is_pipe) throw failed("this is not a regular file");
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) throw failed("cannot open the file: " + reason(errno));
  // Opening a named pipe would wait for a writer, so only unnamed ones are accepted.
  if (is_pipe && !is_unnamed_pipe(file.number())) throw failed("this is not a regular file");
  std::string text(kMaxSmallFile + 1, '\0');
  std::size_t have = 0;
  while (have < text.size()) {
    if (is_pipe) {
      try {
        wait_for_input(file.number(), {"it to be written"});
      } catch (const Error& error) {
        throw failed(error.what());
      }
    }
    const ssize_t read = ::read(file.number(), text.data() + have, text.size() - have);
    if (read < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (read < 0) throw failed("cannot read the file: " + reason(errno));
    if (read == 0) break;
    have += static_cast<std::size_t>(read);
  }
  if (have > kMaxSmallFile) throw failed("the file is too large (over 16 MB)");
  text.resize(have);
  return text;
}

}  // namespace fxtrace::internal::cli
