#include "app/files.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fxtrace::cli {
namespace {

constexpr std::size_t kMaxSmallFile = 16'000'000;

std::string reason(int code) { return code == 0 ? "unknown reason" : std::strerror(code); }

// Closes the descriptor and removes the file unless they were handed on.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& target) : path_(target + ".XXXXXX") {
    descriptor_ = ::mkostemp(path_.data(), O_CLOEXEC);
    if (descriptor_ < 0) throw input_error("cannot be written: " + reason(errno)).at(target);
  }
  ~TemporaryFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!renamed_) ::unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& path() const { return path_; }
  int descriptor() const { return descriptor_; }

  void rename_to(const std::string& target) {
    if (::rename(path_.c_str(), target.c_str()) != 0) {
      throw input_error("cannot be written: " + reason(errno)).at(target);
    }
    renamed_ = true;
  }

 private:
  std::string path_;
  int descriptor_ = -1;
  bool renamed_ = false;
};

// The mode that the file has, or that a new one would get.
mode_t wanted_mode(const std::string& target) {
  struct stat status{};
  if (::stat(target.c_str(), &status) == 0) return status.st_mode & 07777;
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

void write_stream(const std::string& path, const std::string& target,
                  const std::function<void(std::ostream&)>& write) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  if (!file) throw input_error("cannot be written: " + reason(errno)).at(target);
  errno = 0;
  write(file);
  file.close();
  if (!file) throw input_error("cannot be written: " + reason(errno)).at(target);
}

}  // namespace

InputFile::InputFile(const std::string& name, std::istream& in) : path_(name), display_(name) {
  if (name == "-") {
    display_ = "stdin";
    spool(in);
    return;
  }
  struct stat status{};
  if (::stat(name.c_str(), &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode))) {
    std::ifstream pipe(name, std::ios::binary);
    if (!pipe) throw input_error("cannot be opened: " + reason(errno)).at(name);
    spool(pipe);
  }
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void InputFile::spool(std::istream& in) {
  const char* folder = std::getenv("TMPDIR");
  std::string path = std::string(folder != nullptr && *folder != '\0' ? folder : "/tmp") + "/fxtrace.XXXXXX";
  descriptor_ = ::mkostemp(path.data(), O_CLOEXEC);
  if (descriptor_ < 0) throw input_error("no temporary file can be made: " + reason(errno)).at(display_);
  ::unlink(path.c_str());
  path_ = "/proc/self/fd/" + std::to_string(descriptor_);

  std::array<char, 1 << 16> buffer;
  while (in) {
    in.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    const char* from = buffer.data();
    auto left = static_cast<std::size_t>(in.gcount());
    while (left > 0) {
      const ssize_t written = ::write(descriptor_, from, left);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) {
        const int code = errno;
        ::close(descriptor_);
        descriptor_ = -1;
        throw input_error("the temporary file cannot be written: " + reason(code)).at(display_);
      }
      from += written;
      left -= static_cast<std::size_t>(written);
    }
  }
}

std::string InputFile::base_name() const {
  if (display_ == "stdin" && descriptor_ >= 0) return "-";
  return std::filesystem::path(display_).filename().string();
}

Error InputFile::with_display(const Error& error) const {
  std::string place = error.place();
  if (place.starts_with(path_)) place = display_ + place.substr(path_.size());
  if (place.empty()) place = display_;
  Error result(error.kind(), error.what(), error.hints());
  result.at(place);
  return result;
}

void write_output(const std::string& name, Console& console,
                  const std::function<void(std::ostream&)>& write) {
  if (name.empty() || name == "-") {
    errno = 0;
    write(console.out());
    console.flush_out();
    return;
  }
  std::error_code ignored;
  const auto status = std::filesystem::status(name, ignored);
  if (std::filesystem::is_directory(status))
    throw input_error("cannot be written: it is a directory").at(name);
  // Pipes and devices have nothing that a rename could keep.
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    return write_stream(name, name, write);
  }
  // The file that a symbolic link names is replaced, not the link.
  std::string target = name;
  if (std::filesystem::is_symlink(std::filesystem::symlink_status(name, ignored))) {
    const auto real = std::filesystem::canonical(name, ignored);
    if (!ignored) target = real.string();
  }
  const mode_t mode = wanted_mode(target);
  TemporaryFile temporary(target);
  write_stream(temporary.path(), name, write);
  if (::fchmod(temporary.descriptor(), mode) != 0)
    throw input_error("cannot be written: " + reason(errno)).at(name);
  temporary.rename_to(target);
}

std::string read_small_file(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) throw usage_error("this is a directory").at(path);
  std::ifstream file(path, std::ios::binary);
  if (!file) throw usage_error("cannot be opened: " + reason(errno)).at(path);
  std::string text(kMaxSmallFile + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMaxSmallFile) throw usage_error("the file is too big for a configuration").at(path);
  return text;
}

}  // namespace fxtrace::cli
