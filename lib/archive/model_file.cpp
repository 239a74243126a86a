#include "archive/model_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/error.h"
#include "support/system.h"

namespace fxtrace::internal {
namespace {

[[noreturn]] void fail_to_read(int code) {
  switch (code) {
    case ENOENT:
    case ENOTDIR:
      throw input_error("no such file");
    case EACCES:
    case EPERM:
      throw input_error("cannot read the file: permission denied");
    default:
      throw input_error(std::string("cannot read the file: ") + std::strerror(code));
  }
}

[[noreturn]] void fail_on_directory(const std::string& path) {
  struct stat status{};
  const auto exists = [&](const char* name) { return ::stat((path + "/" + name).c_str(), &status) == 0; };
  if (exists("constants.pkl") && exists("data.pkl")) {
    throw input_error("this is a directory: an unpacked TorchScript archive; zip it again");
  }
  if (exists("saved_model.pb"))
    throw input_error("this is a directory: a TensorFlow SavedModel; fxtrace only traces PyTorch models");
  throw input_error("this is a directory; give the model file inside it");
}

Descriptor open_file(const std::string& path) {
  struct stat status{};
  // The kind is checked before opening, as opening a pipe waits for its writer.
  if (::stat(path.c_str(), &status) != 0) {
    if (path.find("://") != std::string::npos)
      throw input_error("files in stores are fetched first", {"python -m fxtrace fetch -o FILE URL"});
    fail_to_read(errno);
  }
  if (S_ISDIR(status.st_mode)) fail_on_directory(path);
  if (!S_ISREG(status.st_mode))
    throw input_error("this is not a regular file; to read a model from a pipe, use `-`");
  Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!descriptor) fail_to_read(errno);
  return descriptor;
}

// Returns the times of the last change of the content, which programs can set, and of the inode, which they
// cannot.
std::array<std::int64_t, 4> times_of(const struct stat& status) {
  return {status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec};
}

}  // namespace

ModelFile::ModelFile(std::string path) : path_(std::move(path)) {
  try {
    descriptor_ = std::make_shared<const Descriptor>(open_file(path_));
    identify();
  } catch (Error& error) {
    error.at(path_);
    throw;
  }
}

ModelFile ModelFile::of_bytes(std::string_view bytes, std::string path) {
  Descriptor file = memory_file();
  while (file && !bytes.empty()) {
    const ssize_t written = ::write(file.number(), bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) file = Descriptor();
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  if (!file) throw input_error(std::string("cannot hold it in memory: ") + std::strerror(errno)).at(path);
  return {std::move(file), std::move(path)};
}

std::string ModelFile::base_name() const { return path_.substr(path_.rfind('/') + 1); }

ModelFile::ModelFile(Descriptor descriptor, std::string path)
    : path_(std::move(path)), descriptor_(std::make_shared<const Descriptor>(std::move(descriptor))) {
  try {
    identify();
  } catch (Error& error) {
    error.at(path_);
    throw;
  }
}

void ModelFile::identify() {
  struct stat status{};
  if (::fstat(descriptor(), &status) != 0) fail_to_read(errno);
  size_ = static_cast<std::uint64_t>(status.st_size);
  times_ = times_of(status);
}

std::size_t ModelFile::read_at(std::uint64_t offset, std::size_t size, char* to) const {
  if (offset >= size_) return 0;
  size = static_cast<std::size_t>(std::min<std::uint64_t>(size, size_ - offset));
  std::size_t have = 0;
  while (have < size) {
    const ssize_t read = ::pread(descriptor(), to + have, size - have, static_cast<off_t>(offset + have));
    if (read < 0 && errno == EINTR) continue;
    if (read <= 0) break;
    have += static_cast<std::size_t>(read);
  }
  return have;
}

std::string ModelFile::read_at(std::uint64_t offset, std::size_t size) const {
  if (offset >= size_) return {};
  std::string bytes(static_cast<std::size_t>(std::min<std::uint64_t>(size, size_ - offset)), '\0');
  bytes.resize(read_at(offset, bytes.size(), bytes.data()));
  return bytes;
}

void ModelFile::for_each_piece(std::uint64_t offset, std::uint64_t size,
                               const std::function<void(std::string_view)>& f) const {
  constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;
  std::string piece(std::min(kPiece, size), '\0');
  while (size > 0) {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), size));
    if (read_at(offset, wanted, piece.data()) != wanted)
      throw input_error("the file ends within a record").at(path_);
    f(std::string_view(piece).substr(0, wanted));
    offset += wanted;
    size -= wanted;
  }
}

void ModelFile::verify_content() { digests_ = std::make_shared<ContentDigests>(); }

bool ModelFile::has_changed() const {
  struct stat status{};
  if (::fstat(descriptor(), &status) != 0) fail_to_read(errno);
  return static_cast<std::uint64_t>(status.st_size) != size_ || times_of(status) != times_;
}

std::string ModelFile::read_whole() const {
  std::string bytes = read_at(0, static_cast<std::size_t>(size_));
  if (bytes.size() != size_) throw input_error("cannot read the file").at(path_);
  return bytes;
}

}  // namespace fxtrace::internal
