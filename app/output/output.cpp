#include "app/output/output.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/process/descriptor_stream.h"
#include "support/descriptor.h"
#include "support/text/number_in.h"

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
constexpr mode_t kPermissions = 0777;

// The paths of the temporary files that have a name now, for a signal handler; null in unused slots.
std::array<std::atomic<const char*>, 2> unfinished{};
static_assert(std::atomic<const char*>::is_always_lock_free);

mode_t mode_of_new_files() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

// Returns the number of one of this process's descriptors if `path` refers to it: /proc/self/fd/3.
std::optional<int> own_descriptor(const fs::path& path) {
  std::error_code failed;
  if (fs::canonical(path.parent_path(), failed) != fs::canonical("/proc/self/fd", failed) || failed)
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

// The place of the product until it is complete: a file in the target's folder, or memory.
class Output::Aside {
 public:
  // Creates a place in memory.
  Aside() : descriptor_(::memfd_create("fxtrace", MFD_CLOEXEC)) { check(bool(descriptor_)); }
  // Creates a file without a name, which disappears when the process ends, however it ends.  Where the file
  // system has no such files, it has a name from the beginning.
  explicit Aside(const fs::path& target) : folder_(target.parent_path()) {
    const std::string folder = folder_.empty() ? "." : folder_.string();
    descriptor_ = Descriptor(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (descriptor_) return;
    std::string path = (folder_ / ".fxtrace-XXXXXX").string();
    descriptor_ = Descriptor(::mkostemp(path.data(), O_CLOEXEC));
    check(bool(descriptor_));
    set_path(std::move(path));
  }
  ~Aside() {
    if (!path_.empty()) ::unlink(path_.c_str());
    set_path("");
  }
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

  int descriptor() const { return descriptor_.number(); }

  void rename_to(const std::string& target) {
    if (path_.empty()) give_name();
    // close() may report a write that failed.
    check(::close(descriptor_.release()) == 0);
    check(::rename(path_.c_str(), target.c_str()) == 0);
    set_path("");
  }

 private:
  static void check(bool done) {
    if (!done) throw std::system_error(errno, std::generic_category());
  }

  void give_name() {
    const std::string own = "/proc/self/fd/" + std::to_string(descriptor());
    for (int number = 0;; ++number) {
      const std::string name = ".fxtrace-" + std::to_string(::getpid()) + "-" + std::to_string(number);
      set_path((folder_ / name).string());
      if (::linkat(AT_FDCWD, own.c_str(), AT_FDCWD, path_.c_str(), AT_SYMLINK_FOLLOW) == 0) return;
      set_path("");  // the name belongs to another process
      check(errno == EEXIST);
    }
  }

  // Also makes the path known to the signal handler.
  void set_path(std::string path) {
    const char* known = path_.empty() ? nullptr : path_.c_str();
    auto& place = *std::ranges::find_if(unfinished, [&](const auto& each) { return each == known; });
    place = nullptr;
    path_ = std::move(path);
    if (!path_.empty()) place = path_.c_str();
  }

  fs::path folder_;
  std::string path_;  // the temporary name, while there is one
  Descriptor descriptor_;
};

void remove_unfinished_output() noexcept {
  for (const auto& each : unfinished) {
    if (const char* path = each) ::unlink(path);
  }
}

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

Output::~Output() = default;

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

std::unique_ptr<Output::Aside> Output::make_aside() const {
  return kind_ == Kind::kFile ? std::make_unique<Aside>(target_) : std::make_unique<Aside>();
}

std::vector<int> Output::prepare() {
  try {
    aside_ = filter_ ? std::make_unique<Aside>() : make_aside();
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
    if (kind_ == Kind::kFile) return replace_file();
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
  if (const auto* stream = dynamic_cast<const DescriptorStream*>(&out)) {
    out.flush();
    constexpr std::size_t kMost = std::size_t{1} << 30;
    while (::sendfile(stream->descriptor(), aside_->descriptor(), &place, kMost) > 0) continue;
    // The loop below copies the rest if the kernel cannot do this, or reports the failure.
  }
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

void Output::replace_file() {
  struct stat status{};
  mode_t mode = mode_of_new_files();
  const int descriptor = aside_->descriptor();
  if (::stat(target_.c_str(), &status) == 0) {
    mode = status.st_mode & kPermissions;
    // Only root can change the owner; for others the new file is their own.
    if (::fchown(descriptor, status.st_uid, status.st_gid) != 0) errno = 0;
  }
  if (::fchmod(descriptor, mode) != 0) throw std::system_error(errno, std::generic_category());
  aside_->rename_to(target_);
}

}  // namespace fxtrace::internal::cli
