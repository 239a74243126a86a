#include "fxtrace/own_folder.h"

#include <string>
#include <system_error>

#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>

namespace fxtrace {

std::filesystem::path own_folder() {
  std::string file;
  Dl_info ignored{};
  void* map = nullptr;
  // The name of a program is empty: what it was called by may be anything.
  const bool is_known =
      ::dladdr1(reinterpret_cast<void*>(&own_folder), &ignored, &map, RTLD_DL_LINKMAP) != 0 && map != nullptr;
  if (is_known) file = static_cast<const link_map*>(map)->l_name;
  std::error_code failed;
  auto path = std::filesystem::canonical(file.empty() ? "/proc/self/exe" : file, failed);
  // Without /proc, the name that it was started by has to do.
  const auto* const started_by =
      reinterpret_cast<const char*>(::getauxval(AT_EXECFN));  // NOLINT(performance-no-int-to-ptr)
  if (failed && file.empty() && started_by != nullptr) path = std::filesystem::canonical(started_by, failed);
  return failed ? std::filesystem::path() : path.parent_path();
}

}  // namespace fxtrace
