// Rules of `fxtrace check`: the conditions that a model must meet.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "archive/security_finding.h"
#include "graph/program_view.h"
#include "rules/matching.h"
#include "support/text/glob.h"

namespace fxtrace::internal {

enum class Severity : std::uint8_t { kError, kWarning };
const char* to_string(Severity severity);  // "error"

enum class RuleKind : std::uint8_t {
  kNoFailed,       // no module failed to trace
  kMaxParameters,  // elements
  kMaxMacs,
  kMaxActivations,  // bytes of all results together
  kMaxPeak,         // bytes of the results that live at a time
  kDeny,            // as kRequire with "no"
  kOps,             // the only operators that are allowed
  kRequire,
  kBackend,        // a backend takes every operator
  kVerifyContent,  // the bytes of the file match its checksums
  kProgram,
  kSecurity
};
const char* to_string(RuleKind kind);  // "max_params", as in a file of rules

// A requirement, from a text such as "torch.nn.Linear followed-by *.dequantize*".
struct Requirement {
  enum class Relation : std::uint8_t {
    kNone,
    kFollowedBy,
    kPrecededBy,
    kWithin,
    kAtMost,
    kAtLeast,
    kHasConstant
  };
  bool is_negated = false;  // no subject may be in the relation, instead of each must be
  Pattern subject;
  Relation relation = Relation::kNone;  // kNone only if is_negated
  std::optional<Pattern> object;        // for kFollowedBy, kPrecededBy and kWithin
  std::optional<NamePattern> path;      // for kWithin, instead of object: "@encoder.**"
  std::int64_t count = 0;               // for kAtMost and kAtLeast
  std::vector<std::string> arguments;   // for kHasConstant: names of which the operator has one
};

// What is said of all rules with one id.
struct RuleClass {
  RuleKind kind;
  const char* id;             // short, and the same in every version: "max-params"
  const char* title;          // what must hold, without numbers and names: "no module fails to trace"
  const char* category;       // "tracing", "costs", "operators", "file" or "security"
  const char* weakness = "";  // the row of the Common Weakness Enumeration: "cwe-502"; empty: none
  const char* security_severity = "";  // 0.0 to 10.0, as GitHub takes it; empty: not about security
};

struct Rule {
  RuleKind kind = RuleKind::kNoFailed;
  std::string name;                    // unique among the rules
  std::string id;                      // of its class, or the author's own; several rules may share it
  std::string text;                    // the condition in words; a baseline compares it
  std::string place;                   // "rules.json: /rules/0"; empty for one of the command line
  bool is_shipped = false;             // comes with the program, and may name what a model does not have
  std::optional<std::string> message;  // the author's own words for those who break it
  Severity severity = Severity::kError;
  std::int64_t limit = 0;          // for the kMax kinds
  std::vector<Pattern> operators;  // for kOps
  std::optional<Requirement> requirement;
  // For kBackend: the name of a set of operators, and its text (schemas/ops.schema.json), empty for one that
  // comes with the program.
  std::string set, set_text;
  SecurityKind security = SecurityKind::kPickle;
  ProgramFaultKind program = ProgramFaultKind::kForm;
};

// Returns the class of the rule's id; of an id of the author's own, that of the rule's kind.
const RuleClass& class_of(const Rule& rule);
// Returns the section of docs/how-to/check.md as an anchor: "is-the-file-of-a-program-right".
const char* heading_of(const RuleClass& about);
// Returns what all rules with the id of `rule` require: the title of the class, or the rule's own text.
std::string title_of(const Rule& rule);

// Parses
//
//   no X                       there is no X
//   no X followed-by Y         no Y takes the value of an X; likewise preceded-by and within
//   X followed-by Y            every node that takes the value of an X is a Y, and there is one
//   X preceded-by Y            every value that an X takes is that of a Y, and there is one
//   X within Y                 each X is inside of a module Y; "@PATH" is a glob over paths of modules
//   X at-most N, X at-least N  bounds on the number of X
//   X has-constant A           the argument A of each X is given, and no operation of the graph computes it
//
// X and Y are patterns (matching.h), A one or more names with "|" between them.  Throws Error(kUsage) that
// shows the position of the mistake.
Requirement parse_requirement(std::string_view text);

Rule no_failed_rule();
// Makes a rule of one of the kMax kinds.
Rule limit_rule(RuleKind kind, std::int64_t limit);
Rule deny_rule(std::string_view pattern);  // throws Error(kUsage)
Rule require_rule(std::string_view text);  // throws Error(kUsage)
// Makes a rule of kOps.  `text` has one pattern in each line; "#" begins a comment.  `name` names the text in
// the rule and in errors.  Throws Error(kUsage) with the line, and if there is no pattern.
Rule ops_rule(std::string_view text, const std::string& name);
// Makes a rule of kBackend.
Rule backend_rule(const std::string& set, const std::string& set_text);
Rule content_rule();
std::vector<Rule> program_rules();   // one for each ProgramFaultKind
std::vector<Rule> security_rules();  // one for each SecurityKind; libraries are a warning

// Appends a rule, unless the command line has the same one.  Throws Error(kUsage) if another rule has its
// name.
void add_rule(std::vector<Rule>& rules, Rule rule);

// Files of rules that the program contains, by name.
struct ShippedRules {
  std::string_view name, text;
};
const std::vector<ShippedRules>& shipped_rules();
// Appends the rules of a shipped file; returns false when there is none of that name.
bool add_shipped_rules(std::string_view name, std::vector<Rule>& rules);

// Rule file: reads rules from JSON (schemas/check_rules.schema.json).

// Appends the rules of the text to `rules`.  `file` is its path, for errors; read_file(PATH) returns the
// content of a file that a rule names, which must be in the folder of `file` or below; check() may throw for
// a rule.  Throws Error(kUsage), with line and column.
void read_rules(std::string_view text, const std::string& file,
                const std::function<std::string(const std::string& path)>& read_file,
                const std::function<void(const Rule&)>& check, std::vector<Rule>& rules);

}  // namespace fxtrace::internal
