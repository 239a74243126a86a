// Takes rights away from this process, irrevocably and for all of its future threads.
#pragma once

#include <string>
#include <vector>

namespace fxtrace::cli {

enum class Lockdown {
  kRunProgram,  // as kReadFiles, but may execute a program, which has the same restrictions
  kReadFiles,   // may open files for reading and map them as code, as loading a library does
  kRunModel,    // may not open anything; may generate code in memory, as LibTorch's operators do
  kCompute      // may do neither
};

// At every level, the process can write only to open descriptors, and cannot create processes, trace or
// signal others, execute programs (except as above) or use the network.  It keeps no capabilities, except,
// where files can be read, the one to read all files.  Only an executed program can create threads, and
// memory that is shared or grows automatically, which no limit counts.  Must not be called by a process with
// several threads.  Later calls can only take away more.  Returns the mechanisms that this kernel or
// container lacks: "Landlock", "seccomp".
std::vector<std::string> lock_down(Lockdown what);

}  // namespace fxtrace::cli
