#include "app/files.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fxtrace::cli {
namespace {

constexpr std::size_t kMaxSmallFile = 16'000'000;

std::string reason(int code) { return code == 0 ? "unknown reason" : std::strerror(code); }

}  // namespace

InputFile::InputFile(const std::string& name, std::istream& in) : path_(name), display_(name) {
  struct stat status{};
  if (name == "-") {
    display_ = "stdin";
    if (&in == &std::cin && ::fstat(STDIN_FILENO, &status) == 0) identity_ = {status.st_dev, status.st_ino};
    spool(in);
    return;
  }
  if (::stat(name.c_str(), &status) != 0) return;
  identity_ = {status.st_dev, status.st_ino};
  if (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)) {
    std::ifstream pipe(name, std::ios::binary);
    if (!pipe) throw input_error("cannot open the file: " + reason(errno)).at(name);
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
  if (descriptor_ < 0) throw input_error("cannot create a temporary file: " + reason(errno)).at(display_);
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
        throw input_error("cannot write the temporary file: " + reason(code)).at(display_);
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

std::string read_whole_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw input_error("cannot open the file: " + reason(errno)).at(path);
  std::ostringstream content;
  content << file.rdbuf();
  if (file.bad()) throw input_error("cannot read the file").at(path);
  return std::move(content).str();
}

std::string read_small_file(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) throw usage_error("this is a directory").at(path);
  std::ifstream file(path, std::ios::binary);
  if (!file) throw usage_error("cannot open the file: " + reason(errno)).at(path);
  std::string text(kMaxSmallFile + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMaxSmallFile) throw usage_error("the file is too large (over 16 MB)").at(path);
  return text;
}

}  // namespace fxtrace::cli
