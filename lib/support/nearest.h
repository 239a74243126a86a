// "Did you mean ...?"
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fxtrace {

// The candidate that `text` was most likely meant to be; empty when none is near.
std::string find_nearest(std::string_view text, const std::vector<std::string>& candidates);

}  // namespace fxtrace
