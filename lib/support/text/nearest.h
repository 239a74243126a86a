// Suggestions for misspelt names: "did you mean ...?"
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace fxtrace::internal {

// Returns the candidate that `text` was most likely meant to be; empty when none is similar.  A candidate
// that ends in `text` as a dotted name ("model.layers.0" for "layers.0") is nearer than any other.
std::string find_nearest(std::string_view text, const std::vector<std::string>& candidates);

// Returns the `most` nearest candidates, the nearest first.
std::vector<std::string> find_nearest(std::string_view text, const std::vector<std::string>& candidates,
                                      std::size_t most);

// Returns the end of an error message: ", did you mean 'relu'?"; empty when no candidate is similar.
std::string did_you_mean(std::string_view text, const std::vector<std::string>& candidates);

}  // namespace fxtrace::internal
