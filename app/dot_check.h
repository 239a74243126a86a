// Whether DOT is such as write_dot() writes.  It comes from the process that read the model, and what
// Graphviz does with other attributes reaches further: `image` and `shapefile` read files, `href` makes
// links.
#pragma once

#include <string>
#include <string_view>

namespace fxtrace::cli {

// What is not, for people: "the attribute 'image'"; empty when all of it is.
std::string find_foreign_dot(std::string_view text);

}  // namespace fxtrace::cli
