#include "app/output/output.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/sendfile.h>
#endif

#include "support/descriptor_stream.h"
#include "support/scope_guard.h"
#include "support/system.h"
#include "support/text/numbers.h"

namespace fxtrace::internal::cli {
namespace {

namespace fs = std::filesystem;

// Returns the most bytes of output for a file of this size: a small model whose code makes a huge output is
// probably hostile.
std::uint64_t most_output(std::uint64_t file_size) {
  constexpr std::uint64_t kBytes = std::uint64_t{64} << 20, kOfFile = 10'000;
  return kBytes / kOfFile * std::clamp(file_size, kOfFile, std::uint64_t{1} << 40);
}

constexpr int kMaxLinks = 40;  // as Linux has it

// Returns the number of one of this process's descriptors if `path` refers to it: /proc/self/fd/3.
std::optional<int> own_descriptor(const fs::path& path) {
  std::error_code failed;
  if (fs::canonical(path.parent_path(), failed) != fs::canonical(kOwnDescriptors, failed) || failed)
    return {};
  return number_in<int>(path.filename().string());
}

// Runs f; a broken pipe ends it without an error.
template <class F>
void until_closed(F&& f) {
  try {
    f();
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::broken_pipe) throw;
  }
}

}  // namespace

void write_stdout(Console& console, const WriteFunction& write) {
  try {
    until_closed([&] {
      write(console.out());
      console.out().flush();
    });
  } catch (const std::system_error& error) {
    throw input_error("cannot write: " + error.code().message()).at("stdout");
  }
  if (!console.out() && !(console.out().exceptions() & std::ios::badbit)) {
    throw input_error("cannot write").at("stdout");
  }
}

Output::Output(std::string name, const InputFile& model, Console& console)
    : name_(std::move(name)), most_(most_output(model.file().size())), console_(console) {
  if (name_.empty()) throw usage_error("-o: expected a file name", {"-o - writes to stdout"});
  if (name_ == "-") {
    if (const auto* out = dynamic_cast<const DescriptorStream*>(&console.out()))
      descriptor_ = out->descriptor();
  } else {
    resolve();
  }
  check_not(model);
  for (const Console::ReadFile& file : console.files_read()) check_not(file.identity, file.name);
}

// Finds out what `name_` refers to.  Follows symbolic links, also those whose target does not exist yet.
void Output::resolve() {
  fs::path path = name_;
  std::error_code failed;
  for (int links = 0;; ++links) {
    if (const auto descriptor = own_descriptor(path)) {
      kind_ = Kind::kDescriptor;
      descriptor_ = *descriptor;
      return;
    }
    if (!fs::is_symlink(fs::symlink_status(path, failed))) break;
    if (links == kMaxLinks) throw cannot_write(ELOOP);
    const fs::path next = fs::read_symlink(path, failed);
    if (failed) throw cannot_write(failed.value());
    path = next.is_absolute() ? next : path.parent_path() / next;
  }
  target_ = path.string();

  struct stat status{};
  if (::stat(target_.c_str(), &status) != 0) {
    if (errno != ENOENT) throw cannot_write(errno);
    const fs::path folder = path.parent_path().empty() ? "." : path.parent_path();
    if (!fs::is_directory(folder, failed)) {
      throw input_error("cannot write the file: no such directory: " + folder.string()).at(name_);
    }
    if (::access(folder.c_str(), W_OK | X_OK) != 0) throw cannot_write(errno);
    kind_ = Kind::kFile;
    return;
  }
  if (S_ISDIR(status.st_mode)) throw cannot_write(EISDIR);
  if (::access(target_.c_str(), W_OK) != 0) throw cannot_write(errno);
  if (S_ISSOCK(status.st_mode) || S_ISBLK(status.st_mode))
    throw input_error("cannot write the file: it is neither a regular file nor a pipe").at(display());
  // Pipes and devices cannot be replaced by a rename.
  kind_ = S_ISREG(status.st_mode) ? Kind::kFile : Kind::kStream;
}

void Output::check_not(const InputFile& model) const {
  if (beside_) beside_->check_not(model);
  if (model.identity()) check_not(*model.identity(), model.display());
}

void Output::check_not(const FileIdentity& identity, const std::string& display) const {
  struct stat status{};
  const bool exists =
      descriptor_ >= 0 ? ::fstat(descriptor_, &status) == 0 : ::stat(target_.c_str(), &status) == 0;
  if (!exists || !S_ISREG(status.st_mode) || FileIdentity{status.st_dev, status.st_ino} != identity) return;
  throw usage_error("the output would overwrite the input " + display, {"give -o another file name"});
}

Error Output::cannot_write(int code) const {
  std::vector<std::string> hints;
  if (code == EFBIG) hints = {"a larger `ulimit -f` allows more"};
  if (code == EMFILE) hints = {"a larger `ulimit -n` allows more"};
  return input_error("cannot write the file: " + std::generic_category().message(code), hints).at(display());
}

std::unique_ptr<FileAside> Output::make_aside() const {
  return kind_ == Kind::kFile ? std::make_unique<FileAside>(target_) : std::make_unique<FileAside>();
}

std::vector<int> Output::prepare() {
  try {
    aside_ = filter_ ? std::make_unique<FileAside>() : make_aside();
  } catch (const std::system_error& error) {
    throw cannot_write(error.code().value());
  }
  std::vector<int> descriptors = beside_ ? beside_->prepare() : std::vector<int>();
  descriptors.push_back(aside_->descriptor());
  return descriptors;
}

void Output::write(const WriteFunction& write) {
  try {
    DescriptorStream stream(aside_->descriptor(), most_);
    write(stream);
    stream.flush();
    is_written_ = true;
  } catch (const TooMuchOutput&) {
    throw input_error(
        "its output is larger than " + std::to_string(most_ >> 20) + " MB, too much for a file of its size",
        {"--max-nodes N and --leaf GLOB keep graphs smaller"});
  } catch (const std::system_error& error) {
    throw cannot_write(error.code().value());
  }
}

bool Output::examine(const std::function<bool(const ModelFile&)>& look) {
  is_written_ = false;
  is_written_ = look(ModelFile(Descriptor(::dup(aside_->descriptor())), name_));
  return is_written_;
}

void Output::commit() {
  if (beside_) {
    beside_->wait_at_most(wait_);
    beside_->commit();
  }
  if (filter_) {
    try {
      auto filtered = make_aside();
      filter_(aside_->descriptor(), filtered->descriptor());
      aside_ = std::move(filtered);
    } catch (const std::system_error& error) {
      throw cannot_write(error.code().value());
    }
  }
  if (kind_ == Kind::kStdout) return write_stdout(console_, [&](std::ostream& out) { copy_to(out); });
  try {
    if (kind_ == Kind::kFile) return aside_->replace_target();
    Descriptor opened;
    if (kind_ == Kind::kStream) opened = open_stream();
    until_closed([&] {
      DescriptorStream stream(opened ? opened.number() : descriptor_);
      copy_to(stream);
      stream.flush();
    });
  } catch (const std::system_error& error) {
    throw cannot_write(error.code().value());
  }
}

// Opens a pipe or a device.  A named pipe without a reader cannot be opened, so that this waits for one.
Descriptor Output::open_stream() const {
  constexpr useconds_t kPause = 50'000;
  Descriptor opened;
  struct stat status{};
  const bool is_pipe = ::stat(target_.c_str(), &status) == 0 && S_ISFIFO(status.st_mode);
  const auto is_open = [&] {
    opened = Descriptor(::open(target_.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK));
    if (opened) return true;
    if (errno != ENXIO || !is_pipe) throw cannot_write(errno);
    ::usleep(kPause);
    return false;
  };
  try {
    wait_until(is_open, {display() + " to be read", wait_, &console_});
  } catch (Error& error) {
    throw error.at(display());
  }
  ::fcntl(opened.number(), F_SETFL, O_WRONLY);
  return opened;
}

void Output::copy_to(std::ostream& out) const {
  off_t place = 0;
#ifdef __linux__
  if (const auto* stream = dynamic_cast<const DescriptorStream*>(&out)) {
    out.flush();
    constexpr std::size_t kMost = std::size_t{1} << 30;
    while (::sendfile(stream->descriptor(), aside_->descriptor(), &place, kMost) > 0) continue;
    // The loop below copies the rest if the kernel cannot do this, or reports the failure.
  }
#endif
  std::array<char, 1 << 16> bytes{};
  while (true) {
    const ssize_t read = ::pread(aside_->descriptor(), bytes.data(), bytes.size(), place);
    if (read < 0 && errno == EINTR) continue;
    if (read < 0) throw std::system_error(errno, std::generic_category());
    if (read == 0) return;
    out.write(bytes.data(), read);
    place += read;
  }
}

}  // namespace fxtrace::internal::cli
