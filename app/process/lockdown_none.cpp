#include "app/process/lockdown.h"

// fxtrace has no sandbox for this system.
std::vector<std::string> fxtrace::internal::cli::lock_down(Lockdown /*what*/) {
  return {"Landlock", "seccomp"};
}
