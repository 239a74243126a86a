// Lockdown: takes rights away from this process, irrevocably and for all of its future threads.
//
// A defect in a parser can give an attacker control of the process that reads a model.  Then the kernel, and
// not the code of the process, must say what the process may do.  lock_down() takes these steps, in this
// order:
//   a. PR_SET_NO_NEW_PRIVS, without which an unprivileged process can use neither Landlock nor seccomp; no
//      executed program can gain rights from a set-user-ID bit or a file's capabilities any more.
//   b. Capabilities are dropped, so that root is an ordinary user here.  This comes before the system call
//      filter, as the filter of kCompute does not allow capset().
//   c. Landlock denies access to paths, to TCP ports and, in newer kernels, to signals and abstract sockets
//      outside of the sandbox.  It comes before the filter, for the same reason.
//   d. The seccomp filter, last: a list of allowed system calls; all others fail with EPERM, so that code
//      that can do without such a call goes on.
//
// Invariants, where the kernel has both Landlock and seccomp:
//
// 1. Only open descriptors can be written to, at every level: no call that is allowed opens a file for
//    writing, creates one, or makes a socket.
// 2. A later call only takes away more: Landlock rulesets and seccomp filters add up, the strictest answer
//    counts, and capabilities are only removed.  For this, the levels that can read files still allow the
//    calls of lock_down() itself; kCompute and kRunModel do not.
// 3. No new process: fork() and vfork() are not allowed, and clone() only at kRunProgram and only for
//    threads.  Only kRunProgram may execute a program.
// 4. Except at kRunProgram, mappings are private and do not grow automatically, so that RLIMIT_DATA counts
//    them.
// 5. At kCompute memory can be neither mapped as code nor turned into code.
// 6. No capability is left, except CAP_DAC_READ_SEARCH at kReadFiles: a library may lie in a folder that only
//    its owner may read.
// 7. Landlock and seccomp work without each other.  What is missing is returned to the caller, who decides
//    (isolation.cpp refuses to go on without both).
//
// Example: the child of `fxtrace trace model.pt --op-library libmy_ops.so`.
//   lock_down(kReadFiles); dlopen() of LibTorch and of libmy_ops.so works.  Code in libmy_ops.so that runs
//   while it is loaded can read files, but open(path, O_WRONLY) and socket() fail with EPERM.
//   lock_down(kCompute); now open(path, O_RDONLY) fails too, and so does mmap(PROT_EXEC).
//   The model is read.  Even with control of the process, it can only compute, write into the product and
//   print to stderr, within the limits of isolation.h.
#pragma once

#include <string>
#include <vector>

namespace fxtrace::internal::cli {

enum class Lockdown {
  kRunProgram,  // as kReadFiles, but may execute a program, which has the same restrictions
  kReadFiles,   // may open files for reading and map them as code, as loading a library does
  kRunModel,    // may not open anything; may generate code in memory, as LibTorch's operators do
  kCompute      // may do neither
};

// At every level, the process can write only to open descriptors, and cannot create processes, trace or
// signal others, execute programs (except as above) or use the network.  Only an executed program can create
// threads, and memory that is shared or grows automatically, which no limit counts.  Must not be called by a
// process with several threads.  Returns the mechanisms that this kernel or container lacks: "Landlock",
// "seccomp".
std::vector<std::string> lock_down(Lockdown what);

}  // namespace fxtrace::internal::cli
