// "Did you mean ...?"
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fxtrace {

// Returns the candidate that `text` was most likely meant to be; empty when none is similar.
std::string find_nearest(std::string_view text, const std::vector<std::string>& candidates);

// Returns what an error adds: ", did you mean 'relu'?"; empty when none is similar.
std::string did_you_mean(std::string_view text, const std::vector<std::string>& candidates);

}  // namespace fxtrace
