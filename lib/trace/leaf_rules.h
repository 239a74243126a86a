// Which modules are leaves, and which functions stay one call: the rules of a trace, applied to names.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/options.h"
#include "trace/program.h"

namespace fxtrace {

// "torch.nn.modules.linear.Linear" -> "torch.nn.Linear"; other types stay as they are.
std::string public_alias(const std::string& type);

// Parses "TYPE", "@PATH" or "TYPE@PATH".  Throws Error(kUsage) that shows the position of what is wrong.
LeafRule parse_leaf_rule(const std::string& text, bool leaf);

class LeafRules {
 public:
  // Decides every module of `program` at once; torch.fx's default rules come first unless options say otherwise.
  LeafRules(const TraceOptions& options, const Program& program);

  bool is_leaf(ModuleId module) const;
  // Text of the rule that made the module a leaf; absent when it is none.  "--max-depth 2" for the depth.
  std::optional<std::string> rule(ModuleId module) const;
  // Whether calls of the script function with this qualified name stay one call_function.
  bool is_wrapped(std::string_view function) const;

  // User's rules that matched no module (and no function, once tracing is over), in the order given.
  std::vector<std::string> unmatched() const;

 private:
  struct Decision {
    bool leaf = false;
    std::string rule;
  };
  std::vector<Decision> decisions_;  // by module
  std::vector<WrapRule> wrap_rules_;
  mutable std::vector<bool> wrap_matched_;  // by user's wrap rule
  std::size_t default_wraps_ = 0;
  std::vector<std::string> unmatched_leaf_rules_;
};

}  // namespace fxtrace
