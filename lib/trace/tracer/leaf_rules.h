// The leaf rules of a trace: they decide which modules are leaves and which functions stay one call.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "support/text/glob.h"
#include "trace/options/options.h"
#include "trace/tracer/program.h"

namespace fxtrace::internal {

// The decisions of a trace about modules and functions.  A module is decided by the first of these that
// applies:
//   1. --max-depth N: a module N levels below the root, or deeper, is a leaf, whatever the rules say.
//      Containers without a forward are not: their children are.
//   2. The last of the user's rules that matches.  A rule matches when its type glob matches the type or its
//      public alias, its path glob the path, and every predicate holds.  Bare names may be last parts
//      (support/text/glob.h).
//   3. torch.fx's default rule, unless options.default_leaves is off: modules of torch.nn and torch.ao.nn are
//      leaves, except Sequential and what derives from it, containers without a forward, and the root.
//
// A shared module has one decision.  A path glob matches it when it matches any of its paths, those through
// shared parents included; its depth is that of its first path.  The root has the path "", which no path glob
// matches; a type glob or the predicate `depth` does.
//
// Predicates compare as Python does: 1 == 1.0, lists and tuples alike, values of different kinds are unequal
// and have no order.  An attribute that the module does not have matches nothing, not even with "!=".
class LeafRules {
 public:
  // Returns BoundProgram::attributes(), for modules whose attributes the file does not have.
  using ToldAttributes = std::function<std::vector<BoundProgram::Attributes>()>;

  // Decides every module of `program` at once.  Calls `told`, which may be empty, only when a rule asks for
  // an attribute.  Throws Error(kUsage) for a wrong glob, and passes on what `told` throws.
  LeafRules(const TraceOptions& options, const Program& program, const ToldAttributes& told = nullptr);

  bool is_leaf(ModuleId module) const { return decisions_[module.index].leaf; }
  // Returns the text of the rule that made the module a leaf; absent when it is not a leaf.  "default" for
  // torch.fx's, "--max-depth 2" for the depth.
  std::optional<std::string> rule(ModuleId module) const;

  // Returns whether calls of the script function with this qualified name stay one call_function.  The last
  // of the user's rules that matches decides; without one, functions of torch.nn.functional and
  // torch.functional stay, unless options.default_wrap is off.
  bool is_wrapped(std::string_view function) const;

  // Returns whether the last of the user's rules that matches the function keeps it; false without such a
  // rule.
  bool keeps(std::string_view function) const;
  bool has_function_rules() const { return !function_rules_.empty(); }
  // Notes that the file does not tell which functions were called; unmatched() then returns `why` in place of
  // the rules that keep functions.
  void set_functions_unknown(Diagnostic why) const { functions_unknown_ = std::move(why); }

  // Returns a diagnostic for each of the user's rules that matched nothing, with a rule that would match:
  // first leaf rules, then globs of functions, in the order given.  Functions are known only after tracing.
  std::vector<Diagnostic> unmatched() const;

 private:
  struct Decision {
    bool leaf = false;
    std::string rule;
  };
  struct FunctionRule {
    Glob glob;
    std::string text;
    bool wrap = true;
  };
  // Returns the verdict of the last of the user's rules that matches, if any does.
  std::optional<bool> last_match(std::string_view function) const;

  std::vector<Decision> decisions_;  // by module
  bool default_wrap_;
  std::vector<Diagnostic> unmatched_leaf_rules_;
  std::vector<FunctionRule> function_rules_;
  // Answers of is_wrapped() by name: functions are called often, under few names.
  mutable std::unordered_map<std::string, bool> wrapped_;
  mutable std::vector<bool> function_rule_matched_;      // by function rule
  mutable std::set<std::string, std::less<>> recorded_;  // functions that keeps() was asked for
  mutable std::optional<Diagnostic> functions_unknown_;
};

}  // namespace fxtrace::internal
