#include "app/lockdown.h"

#include <cerrno>
#include <cstdint>
#include <initializer_list>
#include <memory>

#include <fcntl.h>
#include <linux/landlock.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace fxtrace::cli {
namespace {

// --- seccomp: which system calls there are ---

// What computing takes: memory, threads, time, descriptors that are open.
constexpr int kCompute[] = {
    SCMP_SYS(brk),
    SCMP_SYS(munmap),
    SCMP_SYS(mremap),
    SCMP_SYS(madvise),
    SCMP_SYS(futex),
    SCMP_SYS(read),
    SCMP_SYS(readv),
    SCMP_SYS(pread64),
    SCMP_SYS(preadv),
    SCMP_SYS(write),
    SCMP_SYS(writev),
    SCMP_SYS(lseek),
    SCMP_SYS(close),
    SCMP_SYS(fstat),
    SCMP_SYS(fsync),
    SCMP_SYS(dup),
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(sigaltstack),
    SCMP_SYS(sched_yield),
    SCMP_SYS(sched_getaffinity),
    SCMP_SYS(set_robust_list),
    SCMP_SYS(rseq),
    SCMP_SYS(membarrier),
    SCMP_SYS(set_tid_address),
    SCMP_SYS(gettid),
    SCMP_SYS(getpid),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
    SCMP_SYS(restart_syscall),
    SCMP_SYS(clock_gettime),
    SCMP_SYS(clock_getres),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(time),
    SCMP_SYS(clock_nanosleep),
    SCMP_SYS(nanosleep),
    SCMP_SYS(getrandom),
    SCMP_SYS(getrusage),
    SCMP_SYS(sysinfo),
    SCMP_SYS(uname),
    SCMP_SYS(getcpu),
    SCMP_SYS(get_mempolicy),
    SCMP_SYS(getuid),
    SCMP_SYS(geteuid),
    SCMP_SYS(getgid),
    SCMP_SYS(getegid),
};
// What loading a library takes besides.
constexpr int kRead[] = {
    SCMP_SYS(access),
    SCMP_SYS(faccessat),
    SCMP_SYS(faccessat2),
    SCMP_SYS(stat),
    SCMP_SYS(lstat),
    SCMP_SYS(newfstatat),
    SCMP_SYS(statx),
    SCMP_SYS(readlink),
    SCMP_SYS(readlinkat),
    SCMP_SYS(getcwd),
    SCMP_SYS(dup3),
    SCMP_SYS(getdents64),
    SCMP_SYS(fstatfs),
    SCMP_SYS(statfs),
    SCMP_SYS(fadvise64),
    SCMP_SYS(arch_prctl),
    SCMP_SYS(prctl),
    SCMP_SYS(seccomp),
    SCMP_SYS(landlock_create_ruleset),
    SCMP_SYS(landlock_restrict_self),
};

class Filter {
 public:
  // What is not allowed fails with EPERM, so that what can do without it goes on.
  Filter() : context_(::seccomp_init(SCMP_ACT_ERRNO(EPERM))) {}
  ~Filter() {
    if (context_ != nullptr) ::seccomp_release(context_);
  }
  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;

  template <std::size_t N>
  void allow(const int (&calls)[N]) {
    for (const int call : calls) allow(call);
  }
  void allow(int call, std::initializer_list<scmp_arg_cmp> arguments = {}) {
    add(SCMP_ACT_ALLOW, call, arguments);
  }
  void answer(int call, int error) { add(SCMP_ACT_ERRNO(static_cast<std::uint16_t>(error)), call, {}); }

  bool load() {
    return is_complete_ && ::seccomp_attr_set(context_, SCMP_FLTATR_CTL_TSYNC, 1) == 0 &&
           ::seccomp_load(context_) == 0;
  }

 private:
  void add(std::uint32_t action, int call, std::initializer_list<scmp_arg_cmp> arguments) {
    if (call < 0 && ::seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, call) == nullptr) return;
    const int added = ::seccomp_rule_add_array(context_, action, call,
                                               static_cast<unsigned>(arguments.size()), arguments.begin());
    // Calls that this architecture does not have need no rule.
    if (added != 0 && added != -EDOM && added != -EINVAL) is_complete_ = false;
  }

  scmp_filter_ctx context_;
  bool is_complete_ = context_ != nullptr;
};

bool restrict_calls(Lockdown what) {
  constexpr std::uint64_t kWriting =
      O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND | (O_TMPFILE & ~O_DIRECTORY);
  Filter filter;
  filter.allow(kCompute);
  // Threads only; glibc asks for clone where clone3, whose arguments no filter sees, does not exist.
  filter.answer(SCMP_SYS(clone3), ENOSYS);
  filter.allow(SCMP_SYS(clone), {SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD)});
  // Signals to itself, as abort() sends one.
  filter.allow(SCMP_SYS(tgkill), {SCMP_A0(SCMP_CMP_EQ, static_cast<scmp_datum_t>(::getpid()))});
  // Asking for limits, not setting them.
  filter.allow(SCMP_SYS(prlimit64), {SCMP_A2(SCMP_CMP_EQ, 0)});
  filter.allow(SCMP_SYS(fcntl), {SCMP_A1(SCMP_CMP_EQ, F_GETFL)});
  filter.allow(SCMP_SYS(fcntl), {SCMP_A1(SCMP_CMP_EQ, F_GETFD)});
  if (what == Lockdown::kRunProgram) {
    // It may be a script that runs the program in its place.
    for (const int call : {SCMP_SYS(execve), SCMP_SYS(dup2), SCMP_SYS(getppid)}) filter.allow(call);
    for (const int command : {F_DUPFD, F_DUPFD_CLOEXEC}) {
      filter.allow(SCMP_SYS(fcntl), {SCMP_A1(SCMP_CMP_EQ, static_cast<scmp_datum_t>(command))});
    }
  }
  if (what != Lockdown::kCompute) {
    filter.allow(kRead);
    filter.allow(SCMP_SYS(fcntl), {SCMP_A1(SCMP_CMP_EQ, F_SETFD)});  // as listing a folder takes
    filter.allow(SCMP_SYS(openat), {SCMP_A2(SCMP_CMP_MASKED_EQ, kWriting, 0)});
    filter.allow(SCMP_SYS(open), {SCMP_A1(SCMP_CMP_MASKED_EQ, kWriting, 0)});
    filter.allow(SCMP_SYS(mmap));
    filter.allow(SCMP_SYS(mprotect));
  } else {
    filter.allow(SCMP_SYS(mmap), {SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)});
    filter.allow(SCMP_SYS(mprotect), {SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)});
    // How glibc calls fstat().  A path can be asked about with that flag too: what is told is that it exists.
    filter.allow(SCMP_SYS(newfstatat), {SCMP_A3(SCMP_CMP_MASKED_EQ, AT_EMPTY_PATH, AT_EMPTY_PATH)});
  }
  return filter.load();
}

// --- Landlock: which files there are ---

bool restrict_files(Lockdown what) {
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 1) return false;
  landlock_ruleset_attr rules{};
  rules.handled_access_fs = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                            LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                            LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                            LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
                            LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM;
  if (what != Lockdown::kRunProgram) rules.handled_access_fs |= LANDLOCK_ACCESS_FS_EXECUTE;
  if (what == Lockdown::kCompute)
    rules.handled_access_fs |= LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
  const long set = ::syscall(SYS_landlock_create_ruleset, &rules, sizeof rules, 0);
  if (set < 0) return false;
  const bool done = ::syscall(SYS_landlock_restrict_self, set, 0) == 0;
  ::close(static_cast<int>(set));
  return done;
}

}  // namespace

std::vector<std::string> lock_down(Lockdown what) {
  std::vector<std::string> missing;
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) missing.emplace_back("no_new_privs");
  if (!restrict_files(what)) missing.emplace_back("Landlock");
  if (!restrict_calls(what)) missing.emplace_back("seccomp");
  return missing;
}

}  // namespace fxtrace::cli
