// The rules of `fxtrace check`: what a model must hold to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "archive/security_finding.h"
#include "graph/analysis/program_fault.h"
#include "rules/pattern.h"
#include "support/text/name_pattern.h"

namespace fxtrace {

enum class Severity : std::uint8_t { kError, kWarning };
const char* to_string(Severity severity);  // "error"

enum class RuleKind : std::uint8_t {
  kNoFailed,       // no module failed to trace
  kMaxParameters,  // elements
  kMaxMacs,
  kMaxActivations,  // bytes of all results together
  kMaxPeak,         // bytes of those that live at a time
  kDeny,            // as kRequire with "no"
  kOps,             // no other operators
  kRequire,
  kProgram,
  kSecurity
};
const char* to_string(RuleKind kind);  // "max_params", as a file of rules has it

// What a text such as "torch.nn.Linear followed-by *.dequantize*" asks for.
struct Requirement {
  enum class Relation : std::uint8_t { kNone, kFollowedBy, kPrecededBy, kWithin, kAtMost, kAtLeast };
  bool is_negated = false;  // none may be in that relation, instead of each has to
  Pattern subject;
  Relation relation = Relation::kNone;  // only with is_negated
  std::optional<Pattern> object;        // of the first three
  std::optional<NamePattern> path;      // of kWithin, instead: "@encoder.**"
  std::int64_t count = 0;
};

struct Rule {
  RuleKind kind = RuleKind::kNoFailed;
  std::string name;                    // unique among the rules
  std::string text;                    // what it asks for
  std::optional<std::string> message;  // the author's own words for those who break it
  Severity severity = Severity::kError;
  std::int64_t limit = 0;          // of the kMax kinds
  std::vector<Pattern> operators;  // of kOps
  std::optional<Requirement> requirement;
  SecurityKind security = SecurityKind::kPickle;
  ProgramFaultKind program = ProgramFaultKind::kForm;
};

// Parses
//
//   no X                       there is no X
//   no X followed-by Y         no X of which a Y takes the value; likewise preceded-by, within
//   X followed-by Y            what takes the value of an X is a Y, and something takes it
//   X preceded-by Y            what an X takes is the value of a Y, and it takes something
//   X within Y                 each X is inside of a module Y; "@PATH" is a glob over paths of modules
//   X at-most N, X at-least N  how many there are
//
// X and Y are patterns (pattern.h).  Throws Error(kUsage) that shows where what is wrong stands.
Requirement parse_requirement(std::string_view text);

Rule no_failed_rule();
// `kind` is one of the kMax kinds.
Rule limit_rule(RuleKind kind, std::int64_t limit);
Rule deny_rule(std::string_view pattern);  // throws Error(kUsage)
Rule require_rule(std::string_view text);  // throws Error(kUsage)
// `text` has one pattern a line; "#" begins a comment.  `name` is that of the text, for people.  Throws
// Error(kUsage) with the line, also where there is no pattern.
Rule ops_rule(std::string_view text, const std::string& name);
std::vector<Rule> program_rules();   // one for each ProgramFaultKind
std::vector<Rule> security_rules();  // one for each SecurityKind; libraries are a warning

// Appends a rule.  One that is there already, with the same name and text, is not added again.  Throws
// Error(kUsage) if another rule has its name.
void add_rule(std::vector<Rule>& rules, Rule rule);

}  // namespace fxtrace
