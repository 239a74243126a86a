// Rule file: reads rules from JSON (schemas/check_rules.schema.json).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "rules/rule.h"

namespace fxtrace::internal {

// Appends the rules of the text to `rules`.  `file` is its path, for errors; read_file(PATH) returns the
// content of a file that a rule names, which must be in the folder of `file` or below; check() may throw for
// a rule.  Throws Error(kUsage), with line and column.
void read_rules(std::string_view text, const std::string& file,
                const std::function<std::string(const std::string& path)>& read_file,
                const std::function<void(const Rule&)>& check, std::vector<Rule>& rules);

}  // namespace fxtrace::internal
