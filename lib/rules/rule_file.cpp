#include "rules/rule_file.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "support/json_fields.h"
#include "support/text/amount.h"
#include "support/text/words.h"

namespace fxtrace::internal {
namespace {

constexpr JsonRules kJsonRules{ErrorKind::kUsage, 32, true};

std::int64_t read_amount(const JsonValue& value) {
  if (!value.is_string()) return read_integer(value, 0);
  std::int64_t amount = 0;
  at_place_of(value, [&] { amount = parse_amount(value.string()); });
  return amount;
}

class RuleReader {
 public:
  RuleReader(const std::string& file, const std::function<std::string(const std::string&)>& read_file,
             const std::function<void(const Rule&)>& check)
      : file_(file), read_file_(read_file), check_(check) {}

  // Reads one object, in which exactly one key is a kind of rule.
  std::vector<Rule> read(const JsonValue& value) const {
    object_fields(value, "a rule: an object");
    std::vector<std::string> known = {"name", "message", "severity"};
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

}  // namespace fxtrace::internal
