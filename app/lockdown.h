// What takes rights away from this process, for good and for all of its threads to come.
#pragma once

#include <string>
#include <vector>

namespace fxtrace::cli {

enum class Lockdown {
  kRunProgram,  // as kReadFiles, but this process can become a program, which has no more rights
  kReadFiles,   // files can be opened for reading and mapped as code, as loading a library does
  kCompute      // nothing can be opened any more
};

// In all of them nothing is written but to descriptors that are open; no process is made, no other one traced
// or signalled, no program run but as said, and there is no network.  Later calls take more away, and give
// nothing back. Threads can be made; a process that has some already must not call this. Gives back the parts
// that this kernel or container does not have: "Landlock".
std::vector<std::string> lock_down(Lockdown what);

}  // namespace fxtrace::cli
