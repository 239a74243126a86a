// Fuzz target: leaf rules.
#include "trace/tracer/leaf_rules.h"

#include <string>

#include "rules/rule.h"
#include "tests/fuzz/sample_modules.h"
#include "tests/fuzz/targets.h"
#include "trace/options/options.h"

namespace fxtrace::internal::fuzz {

// A line is a rule: "!RULE" is --no-leaf, "=GLOB" --wrap, any other line --leaf.
void leaf_rule(std::string_view input) {
  constexpr std::size_t kMaxLines = 10;
  for (const std::string_view line : lines_of(input, kMaxLines)) {
    accepts([&] { parse_requirement(line); });
  }
  TraceOptions options;
  accepts([&] {
    for (std::string_view line : lines_of(input, kMaxLines)) {
      if (line.starts_with('=')) {
        options.wrap_rules.push_back({std::string(line.substr(1)), true});
        continue;
      }
      const bool leaf = !line.starts_with('!');
      if (!leaf) line.remove_prefix(1);
      options.leaf_rules.push_back(fxtrace::LeafRule(std::string(line), leaf));
    }
    decide_leaves(options);
  });
}

}  // namespace fxtrace::internal::fuzz
