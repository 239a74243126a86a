// Checks that DOT contains only what write_dot() writes.  The text comes from the untrusted process that read
// the model, and some attributes of Graphviz are dangerous: `image` and `shapefile` read files, `href` makes
// links.
#pragma once

#include <string>
#include <string_view>

namespace fxtrace::internal::cli {

// Describes the first foreign part: "the attribute 'image'"; empty when there is none.
std::string find_foreign_dot(std::string_view text);

}  // namespace fxtrace::internal::cli
