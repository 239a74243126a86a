#include "rules/rule.h"

#include <algorithm>
#include <array>
#include <utility>

#include "support/error.h"
#include "support/text/columns.h"
#include "support/text/nearest.h"
#include "support/text/number_in.h"
#include "support/text/words.h"

namespace fxtrace::internal {
namespace {

using Relation = Requirement::Relation;

constexpr std::size_t kMaxRules = 10'000;
constexpr std::size_t kMaxOperators = 100'000;

struct Word {
  std::string_view text;
  std::size_t at = 0;  // position in the whole text
};

std::vector<Word> words_in(std::string_view text) {
  std::vector<Word> words;
  for (std::size_t at = text.find_first_not_of(' '); at != std::string_view::npos;
       at = text.find_first_not_of(' ', at)) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    words.push_back({text.substr(at, end - at), at});
    at = end;
  }
  return words;
}

struct RelationRow {
  const char* word;
  Relation relation;
};
constexpr std::array<RelationRow, 5> kRelations{{{"followed-by", Relation::kFollowedBy},
                                                 {"preceded-by", Relation::kPrecededBy},
                                                 {"within", Relation::kWithin},
                                                 {"at-most", Relation::kAtMost},
                                                 {"at-least", Relation::kAtLeast}}};

constexpr const char* kForms =
    "a rule is 'no X', 'X followed-by Y', 'X preceded-by Y', 'X within Y', 'no X followed-by Y', "
    "'X at-most N' or 'X at-least N'";

class RequirementParser {
 public:
  explicit RequirementParser(std::string_view text) : text_(text), words_(words_in(text)) {}

  Requirement parse() {
    bool is_negated = false;
    if (next_ < words_.size() && words_[next_].text == "no") {
      is_negated = true;
      ++next_;
    }
    Requirement rule{.is_negated = is_negated,
                     .subject = pattern(take("an operator or a type")),
                     .object = {},
                     .path = {}};
    if (rule.subject.has_word())
      throw wrong(words_[next_ - 1], "is only allowed after followed-by or preceded-by");
    if (next_ == words_.size()) {
      if (is_negated) return rule;
      throw wrong_at(text_.size(), "expected followed-by, preceded-by, within, at-most or at-least");
    }
    const Word relation = words_[next_++];
    rule.relation = relation_of(relation);
    if (rule.relation == Relation::kAtMost || rule.relation == Relation::kAtLeast) {
      if (is_negated) throw wrong(relation, "cannot be combined with 'no'");
      rule.count = number(take("a number"));
    } else {
      const Word object =
          take(rule.relation == Relation::kWithin ? "a type or '@PATH'" : "an operator or a type");
      if (rule.relation == Relation::kWithin && object.text.starts_with('@')) {
        rule.path.emplace(object.text.substr(1), text_, object.at + 1);
      } else {
        rule.object = pattern(object);
        if (rule.relation == Relation::kWithin && rule.object->has_word())
          throw wrong(object, "is only allowed after followed-by or preceded-by");
      }
    }
    if (next_ < words_.size()) throw wrong(words_[next_], "follows a rule that is already complete");
    return rule;
  }

 private:
  Error wrong_at(std::size_t at, const std::string& what) const {
    return usage_error("'" + std::string(text_) + "': " + what + " at position " + std::to_string(at + 1),
                       {kForms});
  }
  Error wrong(const Word& word, const std::string& what) const {
    return usage_error("'" + std::string(text_) + "': '" + std::string(word.text) + "' at position " +
                           std::to_string(word.at + 1) + " " + what,
                       {kForms});
  }

  Word take(const std::string& what) {
    if (next_ == words_.size()) throw wrong_at(text_.size(), "expected " + what);
    return words_[next_++];
  }
  Pattern pattern(const Word& word) const { return Pattern(word.text, text_, word.at); }

  Relation relation_of(const Word& word) const {
    std::vector<std::string> known;
    for (const RelationRow& row : kRelations) {
      if (word.text == row.word) return row.relation;
      known.emplace_back(row.word);
    }
    throw wrong(word, "is not a relation" + did_you_mean(word.text, known));
  }

  std::int64_t number(const Word& word) const {
    const auto value = number_in<std::int64_t>(word.text);
    if (!value || *value < 0) throw wrong(word, "is not a non-negative integer");
    return *value;
  }

  std::string_view text_;
  std::vector<Word> words_;
  std::size_t next_ = 0;
};

// Returns the text with single spaces between words.
std::string normal(std::string_view text) { return joined(words_in(text), &Word::text, " "); }

std::string_view trimmed(std::string_view line) {
  constexpr const char* kSpaces = " \t\r";
  const std::size_t start = line.find_first_not_of(kSpaces);
  if (start == std::string_view::npos) return {};
  return line.substr(start, line.find_last_not_of(kSpaces) - start + 1);
}

}  // namespace

const char* to_string(Severity severity) { return severity == Severity::kError ? "error" : "warning"; }

const char* to_string(RuleKind kind) {
  constexpr std::array<const char*, 12> kNames = {
      "no_failed", "max_params", "max_macs", "max_activations", "max_peak", "deny",
      "ops",       "require",    "backend",  "verify_content",  "program",  "security"};
  return kNames[static_cast<std::size_t>(kind)];
}

Requirement parse_requirement(std::string_view text) { return RequirementParser(text).parse(); }

Rule no_failed_rule() {
  Rule rule;
  rule.name = "no-failed";
  rule.text = "no module fails to trace";
  return rule;
}

Rule limit_rule(RuleKind kind, std::int64_t limit) {
  Rule rule;
  rule.kind = kind;
  rule.limit = limit;
  switch (kind) {
    case RuleKind::kMaxParameters:
      rule.name = "max-params";
      rule.text = "at most " + with_separators(limit) + " parameters";
      break;
    case RuleKind::kMaxMacs:
      rule.name = "max-macs";
      rule.text = "at most " + with_separators(limit) + " MACs";
      break;
    case RuleKind::kMaxActivations:
      rule.name = "max-activations";
      rule.text = "at most " + with_separators(limit) + " bytes of activations";
      break;
    default:
      rule.name = "max-peak";
      rule.text = "at most " + with_separators(limit) + " bytes of activations at a time";
  }
  return rule;
}

Rule deny_rule(std::string_view pattern) {
  Rule rule;
  rule.kind = RuleKind::kDeny;
  rule.text = "no " + std::string(pattern);
  rule.name = "deny " + std::string(pattern);
  rule.requirement = Requirement{.is_negated = true, .subject = Pattern(pattern), .object = {}, .path = {}};
  return rule;
}

Rule require_rule(std::string_view text) {
  Rule rule;
  rule.kind = RuleKind::kRequire;
  rule.requirement = parse_requirement(text);
  rule.text = normal(text);
  rule.name = rule.text;
  return rule;
}

Rule ops_rule(std::string_view text, const std::string& name) {
  Rule rule;
  rule.kind = RuleKind::kOps;
  rule.name = "ops " + name;
  rule.text = "only operators of " + name;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, std::min(text.find('#'), end)));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.empty()) continue;
    if (rule.operators.size() == kMaxOperators)
      throw usage_error("more than " + std::to_string(kMaxOperators) + " operators").at(name);
    try {
      if (line.find_first_of(" \t") != std::string_view::npos) throw usage_error("several words");
      rule.operators.emplace_back(line);
    } catch (const Error&) {  // its message would show the line, and the file may be any file
      throw usage_error("expected one operator or glob").at(name + ":" + std::to_string(number));
    }
  }
  if (rule.operators.empty()) throw usage_error("expected at least one operator").at(name);
  return rule;
}

Rule backend_rule(const std::string& set, const std::string& set_text) {
  Rule rule;
  rule.kind = RuleKind::kBackend;
  rule.name = "backend " + set;
  rule.text = set + " takes every operator";
  rule.set = set;
  rule.set_text = set_text;
  return rule;
}

Rule content_rule() {
  Rule rule;
  rule.kind = RuleKind::kVerifyContent;
  rule.name = "verify-content";
  rule.text = "the bytes of every record match their checksum";
  return rule;
}

std::vector<Rule> program_rules() {
  constexpr std::array<const char*, kProgramFaultKinds> kTexts = {
      "the file has the form of a program",
      "inputs and outputs are those of the graph and of the archive",
      "records hold the tensors that are in them",
      "what is said of values holds",
      "calls fit the schemas of their operators",
      "modules are listed as they are called"};
  std::vector<Rule> rules;
  for (std::size_t i = 0; i < kProgramFaultKinds; ++i) {
    Rule rule;
    rule.kind = RuleKind::kProgram;
    rule.program = static_cast<ProgramFaultKind>(i);
    rule.name = std::string("program-") + to_string(rule.program);
    rule.text = kTexts[i];
    rules.push_back(std::move(rule));
  }
  return rules;
}

std::vector<Rule> security_rules() {
  constexpr std::array<const char*, kSecurityKinds> kTexts = {"no pickle that would run code",
                                                              "no code that reaches beyond tensors",
                                                              "no record outside of the archive's folder",
                                                              "sizes of records fit together",
                                                              "nothing that is not recognised",
                                                              "no operators or classes that need a library"};
  std::vector<Rule> rules;
  for (std::size_t i = 0; i < kSecurityKinds; ++i) {
    Rule rule;
    rule.kind = RuleKind::kSecurity;
    rule.security = static_cast<SecurityKind>(i);
    rule.name = std::string("security-") + to_string(rule.security);
    rule.text = kTexts[i];
    if (rule.security == SecurityKind::kLibrary) rule.severity = Severity::kWarning;
    rules.push_back(std::move(rule));
  }
  return rules;
}

void add_rule(std::vector<Rule>& rules, Rule rule) {
  if (rules.size() == kMaxRules)
    throw usage_error("there are more than " + std::to_string(kMaxRules) + " rules");
  const auto other = std::ranges::find(rules, rule.name, &Rule::name);
  if (other == rules.end()) return rules.push_back(std::move(rule));
  const std::string two = "two rules are called '" + rule.name + "'";
  if (!other->place.empty()) throw usage_error(two + "; the other one is at " + other->place);
  const bool is_same =
      other->text == rule.text && other->kind == rule.kind && other->set_text == rule.set_text &&
      std::ranges::equal(other->operators, rule.operators, {}, &Pattern::text, &Pattern::text);
  if (!is_same) throw usage_error(two + ": '" + other->text + "' and '" + rule.text + "'");
}

}  // namespace fxtrace::internal
