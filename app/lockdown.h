// What takes rights away from this process, for good and for all of its threads to come.
#pragma once

#include <string>
#include <vector>

namespace fxtrace::cli {

enum class Lockdown {
  kRunProgram,  // as kReadFiles, but this process can become a program, which has no more rights
  kReadFiles,   // files can be opened for reading and mapped as code, as loading a library does
  kRunModel,    // nothing can be opened any more; code can be made in memory, as LibTorch's operators do
  kCompute      // nor that
};

// In all of them nothing is written but to descriptors that are open; no process is made, no other one traced
// or signalled, no program run but as said, and there is no network.  No capabilities are left but, where
// files are read, that to read all of them.  Only a program that is run can make threads, and memory that is
// shared or grows by itself, which no limit counts; a process that has threads already must not call this.
// Later calls take more away, and give nothing back.  Gives back the parts that this kernel or container does
// not have: "Landlock", "seccomp".
std::vector<std::string> lock_down(Lockdown what);

}  // namespace fxtrace::cli
