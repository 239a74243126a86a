// Lookup of modules by the paths that users type.
#pragma once

#include <string>
#include <vector>

#include "graph/graph_collection.h"
#include "support/error.h"

namespace fxtrace::internal {

// Returns the paths of the modules that the text means: the module with exactly this path, or else those
// whose first path it matches as a pattern (support/text/name_pattern.h).
std::vector<std::string> match_modules(const GraphCollection& collection, const std::string& text);

// Returns the path of the one module that the text means.  Throws Error(kUsage) when it means none or
// several, with suggestions.
std::string find_module(const GraphCollection& collection, const std::string& text);
Error no_such_module(const GraphCollection& collection, const std::string& text);

}  // namespace fxtrace::internal
