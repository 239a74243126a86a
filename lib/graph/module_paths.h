// The modules that a text of a user means by their paths.
#pragma once

#include <string>
#include <vector>

#include "graph/graph_collection.h"
#include "support/error.h"

namespace fxtrace {

// Returns the paths of the modules that the text means: that of this very path, or else those whose first
// paths it matches (support/text/name_pattern.h).
std::vector<std::string> match_modules(const GraphCollection& collection, const std::string& text);

// Returns the path of the one module that the text means.  Throws Error(kUsage) where that is none or
// several, with those that may be meant.
std::string find_module(const GraphCollection& collection, const std::string& text);
Error no_such_module(const GraphCollection& collection, const std::string& text);

}  // namespace fxtrace
