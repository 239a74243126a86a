// Lockdown: a process that has given up its rights is denied files, code in memory, sockets and processes.
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <string>

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/process/lockdown.h"
#include "catch.h"
#include "folder.h"

using namespace fxtrace::internal::cli;

namespace {

// Returns the result of f() in a process that is locked down; -1 when a signal ended it.
int inside(Lockdown what, const std::function<int()>& f) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);  // replaces the handler of the test runner
    lock_down(Lockdown::kReadFiles);
    if (what == Lockdown::kCompute) lock_down(what);
    ::_exit(f());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Returns whether seccomp works; some containers have none, and there is nothing to test there.
bool is_here() {
  static const bool here = inside(Lockdown::kReadFiles,
                                  [] { return ::prctl(PR_GET_SECCOMP) == SECCOMP_MODE_FILTER ? 1 : 0; }) == 1;
  if (!here) WARN("left out: no seccomp here");
  return here;
}

}  // namespace

TEST_CASE("a process that may compute can open nothing", "[lockdown]") {
  if (!is_here()) return;
  const auto opens = [] { return ::open("/proc/self/exe", O_RDONLY) >= 0 ? 1 : 0; };
  CHECK(inside(Lockdown::kReadFiles, opens) == 1);
  CHECK(inside(Lockdown::kCompute, opens) == 0);
  const auto looks = [] { return ::access("/", R_OK) == 0 ? 1 : 0; };
  CHECK(inside(Lockdown::kReadFiles, looks) == 1);
  CHECK(inside(Lockdown::kCompute, looks) == 0);
  const auto maps_code = [] {
    return ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED ? 1
                                                                                                          : 0;
  };
  CHECK(inside(Lockdown::kReadFiles, maps_code) == 1);
  CHECK(inside(Lockdown::kCompute, maps_code) == 0);
}

TEST_CASE("a process that is locked down writes to nothing but what is open", "[lockdown]") {
  if (!is_here()) return;
  const fxtrace::internal::Folder folder;
  const std::string path = folder.file("content", "kept");
  for (const Lockdown what : {Lockdown::kReadFiles, Lockdown::kCompute}) {
    CHECK(inside(what, [&] { return ::open(path.c_str(), O_WRONLY) < 0 && errno == EPERM ? 1 : 0; }) == 1);
    CHECK(inside(what, [&] { return ::open(path.c_str(), O_RDWR) < 0 ? 1 : 0; }) == 1);
    CHECK(inside(what, [&] { return ::unlink(path.c_str()) < 0 ? 1 : 0; }) == 1);
    CHECK(inside(what, [&] { return ::truncate(path.c_str(), 0) < 0 ? 1 : 0; }) == 1);
    CHECK(inside(what, [] { return ::socket(AF_INET, SOCK_STREAM, 0) < 0 ? 1 : 0; }) == 1);
    CHECK(inside(what, [] { return ::fork() < 0 ? 1 : 0; }) == 1);
    CHECK(inside(what, [] { return ::kill(::getppid(), 0) < 0 ? 1 : 0; }) == 1);
    const int open = ::open(path.c_str(), O_WRONLY | O_APPEND);
    CHECK(inside(what, [&] { return ::write(open, "", 0) == 0 ? 1 : 0; }) == 1);
    ::close(open);
  }
}

TEST_CASE("a process that is locked down has no memory that no limit counts, and no threads", "[lockdown]") {
  if (!is_here()) return;
  for (const Lockdown what : {Lockdown::kReadFiles, Lockdown::kCompute}) {
    const auto maps = [](int flags) {
      constexpr std::size_t kSize = std::size_t{1} << 16;
      return ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags, -1, 0) != MAP_FAILED ? 1
                                                                                                        : 0;
    };
    CHECK(inside(what, [&] { return maps(MAP_PRIVATE); }) == 1);
    CHECK(inside(what, [&] { return maps(MAP_SHARED); }) == 0);
    CHECK(inside(what, [&] { return maps(MAP_SHARED_VALIDATE); }) == 0);
    CHECK(inside(what, [&] { return maps(MAP_PRIVATE | MAP_GROWSDOWN); }) == 0);
    CHECK(inside(what, [] {
            pthread_t thread{};
            return ::pthread_create(&thread, nullptr, [](void* data) { return data; }, nullptr) == 0 ? 1 : 0;
          }) == 0);
  }
}

TEST_CASE("root may do no more than others once all is open", "[lockdown]") {
  const auto capabilities = [] {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
    ::syscall(SYS_capget, &header, data);
    std::uint32_t all = 0;
    for (const auto& word : data) all |= word.effective | word.permitted | word.inheritable;
    return all;
  };
  CHECK(inside(Lockdown::kReadFiles,
               [&] { return (capabilities() & ~(1U << CAP_DAC_READ_SEARCH)) == 0 ? 1 : 0; }) == 1);
  const pid_t child = ::fork();
  if (child == 0) {
    lock_down(Lockdown::kRunProgram);
    ::_exit(capabilities() == 0 && ::prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN) != 1 ? 1 : 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WEXITSTATUS(status) == 1);
}

TEST_CASE("a process that is locked down can still abort, compute and end", "[lockdown]") {
  CHECK(inside(Lockdown::kCompute, [] {
          std::string text(10'000'000, 'a');
          return text.back() == 'a' ? 7 : 0;
        }) == 7);
  CHECK(inside(Lockdown::kCompute, []() -> int { std::abort(); }) == -1);
}
