// Qualified names: parts with dots between them.
#pragma once

#include <string_view>

namespace fxtrace {

// "torch.nn.modules.conv.Conv2d" gives "Conv2d", a name of one part itself.
inline std::string_view last_part(std::string_view name) { return name.substr(name.rfind('.') + 1); }

}  // namespace fxtrace
