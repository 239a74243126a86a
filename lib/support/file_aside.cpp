#include "support/file_aside.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/system.h"

namespace fxtrace::internal {
namespace {

constexpr mode_t kNewFiles = 0666;  // without what umask forbids
constexpr mode_t kPermissions = 0777;

// The paths of the files that have a name now, for a signal handler; null in unused slots.  A file that finds
// none free is not removed by a signal.
std::array<std::atomic<const char*>, 16> named_files{};
static_assert(std::atomic<const char*>::is_always_lock_free);

void check(bool done) {
  if (!done) throw std::system_error(errno, std::generic_category());
}

}  // namespace

FileAside::FileAside() : descriptor_(memory_file()) { check(bool(descriptor_)); }

FileAside::FileAside(std::filesystem::path target) : target_(std::move(target)) {
  const std::string folder = target_.has_parent_path() ? target_.parent_path().string() : ".";
#ifdef O_TMPFILE
  descriptor_ = Descriptor(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, kNewFiles));
  if (descriptor_) return;
#endif
  // What it replaces may be secret.
  struct stat status{};
  const mode_t mode = ::stat(target_.c_str(), &status) == 0 ? status.st_mode & kNewFiles : kNewFiles;
  create([&] {
    descriptor_ = Descriptor(::open(path_.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, mode));
    return bool(descriptor_);
  });
}

FileAside::~FileAside() {
  if (!path_.empty()) ::unlink(path_.c_str());
  set_path("");
}

void FileAside::replace_target() {
  struct stat status{};
  if (::stat(target_.c_str(), &status) == 0) {
    // Only root can change the owner; for others the new file is their own.
    if (::fchown(descriptor(), status.st_uid, status.st_gid) != 0) errno = 0;
    check(::fchmod(descriptor(), status.st_mode & kPermissions) == 0);
  }
  if (path_.empty()) {
    const std::string own = kOwnDescriptors + ("/" + std::to_string(descriptor()));
    create([&] { return ::linkat(AT_FDCWD, own.c_str(), AT_FDCWD, path_.c_str(), AT_SYMLINK_FOLLOW) == 0; });
  }
  // close() may report a write that failed.
  check(::close(descriptor_.release()) == 0);
  check(::rename(path_.c_str(), target_.c_str()) == 0);
  set_path("");
}

// Calls create() with names in path_ until one is not another process's.
template <class Create>
void FileAside::create(Create&& create) {
  for (int number = 0;; ++number) {
    const std::string name = ".fxtrace-" + std::to_string(::getpid()) + "-" + std::to_string(number);
    set_path((target_.parent_path() / name).string());
    if (create()) return;
    const int code = errno;
    set_path("");
    errno = code;
    check(errno == EEXIST);
  }
}

// Also makes the path known to the signal handler.
void FileAside::set_path(std::string path) {
  const char* known = path_.empty() ? nullptr : path_.c_str();
  if (known != nullptr) {
    const auto place = std::ranges::find_if(named_files, [&](const auto& each) { return each == known; });
    if (place != named_files.end()) *place = nullptr;
  }
  path_ = std::move(path);
  if (path_.empty()) return;
  for (auto& place : named_files) {
    const char* unused = nullptr;
    if (place.compare_exchange_strong(unused, path_.c_str())) return;
  }
}

void remove_files_aside() noexcept {
  for (const auto& each : named_files) {
    if (const char* path = each) ::unlink(path);
  }
}

}  // namespace fxtrace::internal
