// "Did you mean ...?"
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace fxtrace {

// Returns the candidate that `text` was most likely meant to be; empty when none is similar.
// One that ends in it, as a dotted name ("layers.0" of "model.layers.0"), is nearer than any other.
std::string find_nearest(std::string_view text, const std::vector<std::string>& candidates);

// The nearest ones first, `most` of them.
std::vector<std::string> find_nearest(std::string_view text, const std::vector<std::string>& candidates,
                                      std::size_t most);

// Returns what an error adds: ", did you mean 'relu'?"; empty when none is similar.
std::string did_you_mean(std::string_view text, const std::vector<std::string>& candidates);

}  // namespace fxtrace
