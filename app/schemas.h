// The schemas of the JSON that fxtrace reads and writes: the build puts the files of schemas/ into the
// program.
#pragma once

#include <string_view>
#include <vector>

namespace fxtrace::internal::cli {

struct JsonSchema {
  std::string_view name;  // "graph_collection"
  std::string_view text;
};

// Sorted by name.
const std::vector<JsonSchema>& schemas();

}  // namespace fxtrace::internal::cli
