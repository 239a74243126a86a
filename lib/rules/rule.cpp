#include "rules/rule.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "support/error.h"
#include "support/json_fields.h"
#include "support/text/did_you_mean.h"
#include "support/text/numbers.h"
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
constexpr std::array<RelationRow, 6> kRelations{{{"followed-by", Relation::kFollowedBy},
                                                 {"preceded-by", Relation::kPrecededBy},
                                                 {"within", Relation::kWithin},
                                                 {"at-most", Relation::kAtMost},
                                                 {"at-least", Relation::kAtLeast},
                                                 {"has-constant", Relation::kHasConstant}}};

constexpr const char* kForms =
    "a rule is 'no X', 'X followed-by Y', 'X preceded-by Y', 'X within Y', 'no X followed-by Y', "
    "'X at-most N', 'X at-least N' or 'X has-constant ARGUMENT'";

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
                     .path = {},
                     .arguments = {}};
    if (rule.subject.has_word())
      throw wrong(words_[next_ - 1], "is only allowed after followed-by or preceded-by");
    if (next_ == words_.size()) {
      if (is_negated) return rule;
      throw wrong_at(text_.size(),
                     "expected followed-by, preceded-by, within, at-most, at-least or has-constant");
    }
    const Word relation = words_[next_++];
    rule.relation = relation_of(relation);
    if (rule.relation == Relation::kAtMost || rule.relation == Relation::kAtLeast) {
      if (is_negated) throw wrong(relation, "cannot be combined with 'no'");
      rule.count = number(take("a number"));
    } else if (rule.relation == Relation::kHasConstant) {
      for (std::string_view names = take("an argument").text; !names.empty();) {
        const std::size_t end = std::min(names.find('|'), names.size());
        rule.arguments.emplace_back(names.substr(0, end));
        names.remove_prefix(std::min(end + 1, names.size()));
      }
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

// The first row of a kind is that of its rules, in the order of ProgramFaultKind and SecurityKind.
constexpr auto kClasses = std::to_array<RuleClass>({
    {RuleKind::kNoFailed, "no-failed", "no module fails to trace", "tracing"},
    {RuleKind::kMaxParameters, "max-params", "at most so many parameters", "costs"},
    {RuleKind::kMaxMacs, "max-macs", "at most so many MACs", "costs"},
    {RuleKind::kMaxActivations, "max-activations", "at most so many bytes of activations", "costs"},
    {RuleKind::kMaxPeak, "max-peak", "at most so many bytes of activations at a time", "costs"},
    {RuleKind::kDeny, "deny-operator", "no operator and no module that is denied", "operators"},
    {RuleKind::kOps, "only-operators", "only operators that are allowed", "operators"},
    {RuleKind::kRequire, "require-operator", "operators and modules are where and as many as required",
     "operators"},
    {RuleKind::kBackend, "backend-operator", "a backend takes every operator", "operators"},
    {RuleKind::kVerifyContent, "verify-content", "the bytes of every record match their checksum", "file"},
    {RuleKind::kProgram, "program-form", "the file has the form of a program", "file"},
    {RuleKind::kProgram, "program-signature", "inputs and outputs are those of the graph and of the archive",
     "file"},
    {RuleKind::kProgram, "program-record", "records hold the tensors that are in them", "file"},
    {RuleKind::kProgram, "program-meta", "what is said of values holds", "file"},
    {RuleKind::kProgram, "program-call", "calls fit the schemas of their operators", "file"},
    {RuleKind::kProgram, "program-module", "modules are listed as they are called", "file"},
    {RuleKind::kSecurity, "security-pickle", "no pickle that would run code", "security", "cwe-502", "9.3"},
    {RuleKind::kSecurity, "security-code", "no code that reaches beyond tensors", "security", "cwe-94",
     "9.3"},
    {RuleKind::kSecurity, "security-path", "no record outside of the archive's folder", "security", "cwe-22",
     "8.1"},
    {RuleKind::kSecurity, "security-size", "sizes of records fit together", "security", "cwe-1284", "6.5"},
    {RuleKind::kSecurity, "security-unknown", "nothing that is not recognised", "security", "cwe-20", "5.0"},
    {RuleKind::kSecurity, "security-library", "no operators or classes that need a library", "security",
     "cwe-829", "3.9"},
});

const RuleClass* first_class(RuleKind kind) { return std::ranges::find(kClasses, kind, &RuleClass::kind); }

const RuleClass* find_class(std::string_view id) {
  const RuleClass* found = std::ranges::find(kClasses, id, &RuleClass::id);
  return found == kClasses.end() ? nullptr : found;
}

Rule rule_of(const RuleClass& about) {
  Rule rule;
  rule.kind = about.kind;
  rule.id = rule.name = about.id;
  rule.text = about.title;
  return rule;
}
Rule rule_of(RuleKind kind) { return rule_of(*first_class(kind)); }

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

const RuleClass& class_of(const Rule& rule) {
  const RuleClass* own = find_class(rule.id);
  return own == nullptr ? *first_class(rule.kind) : *own;
}

const char* heading_of(const RuleClass& about) {
  switch (about.kind) {
    case RuleKind::kDeny:
    case RuleKind::kOps:
    case RuleKind::kRequire:
      return "rules-over-operators-types-and-neighbours";
    case RuleKind::kProgram:
      return "is-the-file-of-a-program-right";
    case RuleKind::kSecurity:
      return "what-the-file-would-have-a-reader-do";
    default:
      return "does-the-model-hold-to-our-rules";
  }
}

std::string title_of(const Rule& rule) {
  return find_class(rule.id) == nullptr ? rule.text : class_of(rule).title;
}

Requirement parse_requirement(std::string_view text) { return RequirementParser(text).parse(); }

Rule no_failed_rule() { return rule_of(RuleKind::kNoFailed); }

Rule limit_rule(RuleKind kind, std::int64_t limit) {
  constexpr std::string_view kMany = "so many";
  Rule rule = rule_of(kind);
  rule.limit = limit;
  rule.text.replace(rule.text.find(kMany), kMany.size(), with_separators(limit));
  return rule;
}

Rule deny_rule(std::string_view pattern) {
  Rule rule = rule_of(RuleKind::kDeny);
  rule.text = "no " + std::string(pattern);
  rule.name = "deny " + std::string(pattern);
  rule.requirement =
      Requirement{.is_negated = true, .subject = Pattern(pattern), .object = {}, .path = {}, .arguments = {}};
  return rule;
}

Rule require_rule(std::string_view text) {
  Rule rule = rule_of(RuleKind::kRequire);
  rule.requirement = parse_requirement(text);
  rule.text = normal(text);
  rule.name = rule.text;
  return rule;
}

Rule ops_rule(std::string_view text, const std::string& name) {
  Rule rule = rule_of(RuleKind::kOps);
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
  Rule rule = rule_of(RuleKind::kBackend);
  rule.name = "backend " + set;
  rule.text = set + " takes every operator";
  rule.set = set;
  rule.set_text = set_text;
  return rule;
}

Rule content_rule() { return rule_of(RuleKind::kVerifyContent); }

std::vector<Rule> program_rules() {
  std::vector<Rule> rules;
  for (std::size_t i = 0; i < kProgramFaultKinds; ++i) {
    rules.push_back(rule_of(first_class(RuleKind::kProgram)[i]));
    rules.back().program = static_cast<ProgramFaultKind>(i);
  }
  return rules;
}

std::vector<Rule> security_rules() {
  std::vector<Rule> rules;
  for (std::size_t i = 0; i < kSecurityKinds; ++i) {
    rules.push_back(rule_of(first_class(RuleKind::kSecurity)[i]));
    rules.back().security = static_cast<SecurityKind>(i);
    if (rules.back().security == SecurityKind::kLibrary) rules.back().severity = Severity::kWarning;
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

namespace {

constexpr JsonRules kJsonRules{ErrorKind::kUsage, 32, true};

std::int64_t read_amount(const JsonValue& value) {
  if (!value.is_string()) return read_integer(value, 0);
  std::int64_t amount = 0;
  at_place_of(value, [&] { amount = parse_amount(value.string()); });
  return amount;
}

bool is_id(std::string_view text) {
  constexpr std::string_view kCharacters = "abcdefghijklmnopqrstuvwxyz0123456789-";
  return text.size() <= 64 && !text.starts_with('-') && !text.ends_with('-') &&
         text.find("--") == std::string_view::npos &&
         text.find_first_not_of(kCharacters) == std::string_view::npos;
}

class RuleReader {
 public:
  RuleReader(const std::string& file, const std::function<std::string(const std::string&)>& read_file,
             const std::function<void(const Rule&)>& check)
      : file_(file), read_file_(read_file), check_(check) {}

  // Reads one object, in which exactly one key is a kind of rule.
  std::vector<Rule> read(const JsonValue& value) const {
    object_fields(value, "a rule: an object");
    std::vector<std::string> known = {"id", "name", "message", "severity"};
    std::vector<std::string> kinds;
    for (int i = 0; i <= static_cast<int>(RuleKind::kSecurity); ++i)
      kinds.emplace_back(to_string(static_cast<RuleKind>(i)));
    kinds.emplace_back("ops_file");
    known.insert(known.end(), kinds.begin(), kinds.end());
    check_keys(value, known, "key of a rule");
    std::vector<Rule> rules;
    std::optional<std::string> kind;
    for (const std::string& candidate : kinds) {
      const auto what = value.find_or_null(candidate);
      if (!what) continue;
      if (kind) what->fail_at_key("a rule has one kind, and this one already has '" + *kind + "'");
      kind = candidate;
      at_place_of(*what, [&] {
        rules = made(candidate, *what);
        std::ranges::for_each(rules, check_);
      });
    }
    if (!kind) value.fail("a rule needs one of " + joined(kinds));
    describe(value, rules);
    return rules;
  }

 private:
  // Returns the path of a file in the folder of this one or below, after links are resolved: rules that come
  // with a model cannot make fxtrace read other files.
  std::filesystem::path beside(const JsonValue& value) const {
    const std::filesystem::path name = read_string(value);
    const bool leads_out = name.is_absolute() || std::find(name.begin(), name.end(), "..") != name.end();
    const std::filesystem::path folder = std::filesystem::path(file_).parent_path();
    std::error_code failed;
    const auto real_folder = std::filesystem::canonical(folder.empty() ? "." : folder, failed);
    const auto real = std::filesystem::canonical(folder / name, failed);  // a missing file is reported later
    const bool is_below =
        failed || std::mismatch(real_folder.begin(), real_folder.end(), real.begin(), real.end()).first ==
                      real_folder.end();
    if (leads_out || !is_below) value.fail("expected a file in the folder of this file or below");
    if (!failed && !std::filesystem::is_regular_file(real, failed)) value.fail("expected a regular file");
    return folder / name;
  }

  std::string content(const JsonValue& value, const std::filesystem::path& path) const {
    try {
      return read_file_(path.string());
    } catch (const Error& error) {
      value.fail((error.place().empty() ? "" : error.place() + ": ") + error.what(), error.hints());
    }
  }

  std::vector<Rule> made(const std::string& kind, const JsonValue& value) const {
    if (kind == "no_failed" || kind == "verify_content" || kind == "program" || kind == "security") {
      if (!read_boolean(value)) value.fail("expected true; to disable the rule, leave it out");
      if (kind == "program") return program_rules();
      if (kind == "verify_content") return {content_rule()};
      return kind == "security" ? security_rules() : std::vector<Rule>{no_failed_rule()};
    }
    std::vector<Rule> rules;
    if (kind == "deny") {
      if (value.is_array() && value.items().empty()) value.fail("expected at least one operator or type");
      for_each_string(value, [&](const JsonValue& item, const std::string& text) {
        at_place_of(item, [&] { rules.push_back(deny_rule(text)); });
      });
    } else if (kind == "require") {
      rules.push_back(require_rule(read_string(value)));
    } else if (kind == "backend") {
      const std::string set = read_string(value);
      if (set.find_first_of("./") == std::string::npos) return {backend_rule(set, "")};
      const std::filesystem::path path = beside(value);
      rules.push_back(backend_rule(path.filename().string(), content(value, path)));
    } else if (kind == "ops") {
      std::string lines;
      for_each_string(value, [&](const JsonValue& item, const std::string& text) {
        if (text.find_first_of("\n#") != std::string::npos) item.fail("expected one operator or glob");
        lines += text + "\n";
      });
      rules.push_back(ops_rule(lines, std::filesystem::path(file_).filename().string()));
    } else if (kind == "ops_file") {
      const std::filesystem::path path = beside(value);
      rules.push_back(ops_rule(content(value, path), path.filename().string()));
    } else {
      for (const RuleKind limit :
           {RuleKind::kMaxParameters, RuleKind::kMaxMacs, RuleKind::kMaxActivations, RuleKind::kMaxPeak}) {
        if (kind == to_string(limit)) rules.push_back(limit_rule(limit, read_amount(value)));
      }
    }
    return rules;
  }

  static void describe(const JsonValue& value, std::vector<Rule>& rules) {
    if (const auto name = value.find_or_null("name")) {
      const std::string text = read_string(*name);
      for (std::size_t i = 0; i < rules.size(); ++i)
        rules[i].name = rules.size() == 1 ? text : text + " (" + std::to_string(i + 1) + ")";
    }
    if (const auto id = value.find_or_null("id")) {
      const std::string text = read_string(*id);
      if (!is_id(text)) id->fail("expected lower-case words with hyphens between them: 'no-host-sync'");
      if (find_class(text) != nullptr) id->fail("'" + text + "' is the id of other rules");
      for (Rule& rule : rules) {
        if (rule.kind == RuleKind::kProgram || rule.kind == RuleKind::kSecurity)
          id->fail("the rules of '" + std::string(to_string(rule.kind)) + "' have ids of their own");
        rule.id = text;
      }
    }
    if (const auto message = value.find_or_null("message")) {
      for (Rule& rule : rules) rule.message = read_string(*message);
    }
    if (const auto severity = value.find_or_null("severity")) {
      const bool is_error = read_choice(*severity, {"error", "warning"}) == "error";
      for (Rule& rule : rules) rule.severity = is_error ? Severity::kError : Severity::kWarning;
    }
  }

  const std::string& file_;
  const std::function<std::string(const std::string&)>& read_file_;
  const std::function<void(const Rule&)>& check_;
};

}  // namespace

void read_rules(std::string_view text, const std::string& file,
                const std::function<std::string(const std::string& path)>& read_file,
                const std::function<void(const Rule&)>& check, std::vector<Rule>& rules) {
  const JsonDocument document(text, file, kJsonRules);
  const JsonValue root = document.root();
  object_fields(root, "an object with rules");
  check_document(root, "fxtrace.check_rules", {"rules"}, "key");
  const RuleReader reader(file, read_file, check);
  std::size_t index = 0;
  for (const JsonValue item : array_items(root.at("rules"), "an array of rules")) {
    const std::string place = file + ": /rules/" + std::to_string(index++);
    for (Rule& rule : reader.read(item)) {
      rule.place = place;
      at_place_of(item, [&] { add_rule(rules, std::move(rule)); });
    }
  }
}

bool add_shipped_rules(std::string_view name, std::vector<Rule>& rules) {
  const auto found = std::ranges::find(shipped_rules(), name, &ShippedRules::name);
  if (found == shipped_rules().end()) return false;
  const std::size_t before = rules.size();
  read_rules(found->text, std::string(name), {}, [](const Rule&) {}, rules);
  for (std::size_t i = before; i < rules.size(); ++i) rules[i].is_shipped = true;
  return true;
}

}  // namespace fxtrace::internal
