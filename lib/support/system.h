// What Linux and macOS do each in a way of its own: system_linux.cpp or system_macos.cpp, of which CMake
// compiles one.  Functions that fail tell so by their result and errno; new descriptors are closed on exec.
#pragma once

#include <array>

#include <sys/types.h>

#include "support/scope_guard.h"

namespace fxtrace::internal {

// The folder in which the open descriptors of this process have names, which are their numbers.
extern const char* const kOwnDescriptors;
// Whether RLIMIT_DATA counts private memory that can be written, and not address space, which is not limited.
extern const bool kCountsMemory;

// Makes a file without a name, for reading and writing.
Descriptor memory_file();
// Makes a pipe: the end to read from, and the end to write to.
bool make_pipe(std::array<int, 2>& ends);
// Lets the number of `other` mean the file of `descriptor`, by a call that the sandbox allows.
void redirect(int other, int descriptor);
// Closes the descriptors from `first` to `last`, on Linux since 5.9.
bool close_at_once(unsigned first, unsigned last);
// Returns whether this is a pipe that has no name in a file system.
bool is_unnamed_pipe(int descriptor);
// Lets this process be killed when its parent ends, where the system can.
void end_with_parent();
// Returns what becomes readable when a child ends (a pidfd, since Linux 5.3); none where it has to be polled.
Descriptor end_of(pid_t child);

}  // namespace fxtrace::internal
