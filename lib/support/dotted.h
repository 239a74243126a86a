// Qualified names: parts with dots between them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fxtrace {

// "torch.nn.modules.conv.Conv2d" gives "Conv2d", a name of one part itself.
inline std::string_view last_part(std::string_view name) { return name.substr(name.rfind('.') + 1); }

// "a.b" of "a.b.c"; "" of a name of one part.  A dot behind a backslash is part of a name.
inline std::string_view parent_path(std::string_view path) {
  for (std::size_t i = path.size(); i-- > 1;) {
    if (path[i] == '.' && path[i - 1] != '\\') return path.substr(0, i);
  }
  return {};
}

// The path of a module for people: the root's is empty.
inline std::string path_text(const std::string& path) { return path.empty() ? "(root)" : path; }

}  // namespace fxtrace
