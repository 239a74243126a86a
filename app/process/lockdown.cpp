#include "app/process/lockdown.h"

#include <cerrno>
#include <cstdint>
#include <initializer_list>
#include <memory>

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace fxtrace::internal::cli {
namespace {

// --- seccomp: the system calls that are allowed ---

// Calls that computing needs: memory, synchronization, time, and use of open descriptors.
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
// Calls that loading a library needs besides.
constexpr int kLoadLibraries[] = {
    SCMP_SYS(access),     SCMP_SYS(faccessat),  SCMP_SYS(faccessat2), SCMP_SYS(stat),
    SCMP_SYS(lstat),      SCMP_SYS(newfstatat), SCMP_SYS(statx),      SCMP_SYS(readlink),
    SCMP_SYS(readlinkat), SCMP_SYS(getcwd),     SCMP_SYS(dup3),       SCMP_SYS(getdents64),
    SCMP_SYS(fstatfs),    SCMP_SYS(statfs),     SCMP_SYS(fadvise64),  SCMP_SYS(arch_prctl),
};
// Calls of lock_down() itself.
constexpr int kLockDown[] = {
    SCMP_SYS(prctl),
    SCMP_SYS(capget),
    SCMP_SYS(capset),
    SCMP_SYS(seccomp),
    SCMP_SYS(landlock_create_ruleset),
    SCMP_SYS(landlock_restrict_self),
};

class CallFilter {
 public:
  // A call that is not allowed fails with EPERM instead of killing the process, so that code that can do
  // without it goes on.
  CallFilter() : context_(::seccomp_init(SCMP_ACT_ERRNO(EPERM))) {}
  ~CallFilter() {
    if (context_ != nullptr) ::seccomp_release(context_);
  }
  CallFilter(const CallFilter&) = delete;
  CallFilter& operator=(const CallFilter&) = delete;

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
  CallFilter filter;
  filter.allow(kCompute);
  // The process may signal itself, as abort() does.
  filter.allow(SCMP_SYS(tgkill), {SCMP_A0(SCMP_CMP_EQ, static_cast<scmp_datum_t>(::getpid()))});
  // Limits can be read, not set.
  filter.allow(SCMP_SYS(prlimit64), {SCMP_A2(SCMP_CMP_EQ, 0)});
  filter.allow(SCMP_SYS(fcntl), {SCMP_A1(SCMP_CMP_EQ, F_GETFL)});
  filter.allow(SCMP_SYS(fcntl), {SCMP_A1(SCMP_CMP_EQ, F_GETFD)});
  if (what == Lockdown::kRunProgram) {
    // The program may be a shell script that starts the real program.
    for (const int call : {SCMP_SYS(execve), SCMP_SYS(dup2), SCMP_SYS(getppid)}) filter.allow(call);
    for (const int command : {F_DUPFD, F_DUPFD_CLOEXEC}) {
      filter.allow(SCMP_SYS(fcntl), {SCMP_A1(SCMP_CMP_EQ, static_cast<scmp_datum_t>(command))});
    }
    // New threads only.  A filter cannot see the arguments of clone3(), so it fails as if the kernel did not
    // have it, and glibc calls clone().
    filter.answer(SCMP_SYS(clone3), ENOSYS);
    filter.allow(SCMP_SYS(clone), {SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD)});
    filter.allow(SCMP_SYS(mmap));
  } else {
    // Only private memory that does not grow automatically, as RLIMIT_DATA counts no other; kCompute alone
    // may not map code.
    const std::uint64_t executable = what == Lockdown::kCompute ? PROT_EXEC : 0;
    filter.allow(SCMP_SYS(mmap), {SCMP_A2(SCMP_CMP_MASKED_EQ, executable, 0),
                                  SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_SHARED | MAP_GROWSDOWN, 0)});
  }
  if (what == Lockdown::kRunProgram || what == Lockdown::kReadFiles) {
    filter.allow(kLoadLibraries);
    filter.allow(kLockDown);
    filter.allow(SCMP_SYS(fcntl), {SCMP_A1(SCMP_CMP_EQ, F_SETFD)});  // opendir() needs it
    filter.allow(SCMP_SYS(openat), {SCMP_A2(SCMP_CMP_MASKED_EQ, kWriting, 0)});
    filter.allow(SCMP_SYS(open), {SCMP_A1(SCMP_CMP_MASKED_EQ, kWriting, 0)});
    filter.allow(SCMP_SYS(mprotect));
  } else {
    if (what == Lockdown::kRunModel) {
      filter.allow(SCMP_SYS(mprotect));
    } else {
      filter.allow(SCMP_SYS(mprotect), {SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)});
    }
    // glibc calls fstat() so.  The flag can also come with a path, which only tells whether the path exists.
    filter.allow(SCMP_SYS(newfstatat), {SCMP_A3(SCMP_CMP_MASKED_EQ, AT_EMPTY_PATH, AT_EMPTY_PATH)});
  }
  return filter.load();
}

// --- Landlock: access to files ---

// Mirrors the struct of the newest kernel, as the headers may be older.  Rights that the running kernel does
// not know are not asked for.
struct LandlockRules {
  std::uint64_t files = 0, network = 0, scope = 0;
};
constexpr std::uint64_t bit(unsigned number) { return std::uint64_t{1} << number; }
// The rights of version 1: execute, write, read a file, list a folder, remove a folder or file, and create
// each kind of file.
constexpr std::uint64_t kExecute = bit(0), kReadFile = bit(2), kReadFolder = bit(3);
constexpr std::uint64_t kChange = bit(1) | (bit(13) - bit(4));
constexpr std::uint64_t kMove = bit(13), kTruncate = bit(14), kControlDevice = bit(15);  // since 2, 3 and 5
constexpr std::uint64_t kBind = bit(0), kConnect = bit(1);                               // since 4
constexpr std::uint64_t kAbstractSockets = bit(0), kSignals = bit(1);                    // since 6

bool restrict_files(Lockdown what) {
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, 1 /* which version is there? */);
  if (version < 1) return false;
  LandlockRules rules;
  rules.files = kChange;
  if (version >= 2) rules.files |= kMove;
  if (version >= 3) rules.files |= kTruncate;
  if (version >= 4) rules.network = kBind | kConnect;
  if (version >= 5) rules.files |= kControlDevice;
  if (version >= 6) rules.scope = kAbstractSockets | kSignals;
  if (what != Lockdown::kRunProgram) rules.files |= kExecute;
  if (what == Lockdown::kCompute || what == Lockdown::kRunModel) rules.files |= kReadFile | kReadFolder;
  const std::size_t size = (version >= 6 ? 3 : version >= 4 ? 2 : 1) * sizeof(std::uint64_t);
  const long set = ::syscall(SYS_landlock_create_ruleset, &rules, size, 0);
  if (set < 0) return false;
  const bool done = ::syscall(SYS_landlock_restrict_self, set, 0) == 0;
  ::close(static_cast<int>(set));
  return done;
}

// --- capabilities: the privileges of root ---

void drop_capabilities(Lockdown what) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capget, &header, data) != 0) return;
  // A program that root executes would get back the capabilities of this set.
  if (what == Lockdown::kRunProgram) {
    for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability) {
      ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
    }
  }
  // A library may lie in a folder that only its owner may read.
  const std::uint32_t kept = what == Lockdown::kReadFiles ? std::uint32_t{1} << CAP_DAC_READ_SEARCH : 0;
  for (std::size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; ++i) {
    data[i].permitted &= i == 0 ? kept : 0;
    data[i].effective = data[i].permitted;
    data[i].inheritable = 0;
  }
  ::syscall(SYS_capset, &header, data);
}

}  // namespace

std::vector<std::string> lock_down(Lockdown what) {
  std::vector<std::string> missing;
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);  // both Landlock and seccomp need it
  drop_capabilities(what);
  if (!restrict_files(what)) missing.emplace_back("Landlock");
  if (!restrict_calls(what)) missing.emplace_back("seccomp");
  return missing;
}

}  // namespace fxtrace::internal::cli
