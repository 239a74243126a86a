#include "fxtrace/own_folder.h"

#include <dlfcn.h>
#include <link.h>

namespace fxtrace {

std::filesystem::path own_folder() {
  const char* file = "/proc/self/exe";
  Dl_info ignored{};
  void* map = nullptr;
  // The name of a program is empty: what it was called by may be anything.
  const bool is_known =
      ::dladdr1(reinterpret_cast<void*>(&own_folder), &ignored, &map, RTLD_DL_LINKMAP) != 0 && map != nullptr;
  if (is_known && *static_cast<const link_map*>(map)->l_name != '\0')
    file = static_cast<const link_map*>(map)->l_name;
  std::error_code failed;
  const auto path = std::filesystem::canonical(file, failed);
  return failed ? std::filesystem::path() : path.parent_path();
}

}  // namespace fxtrace
