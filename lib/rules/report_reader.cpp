#include "rules/report_reader.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "support/json_document.h"

namespace fxtrace {
namespace {

std::string text_of(const JsonValue& value) { return std::string(value.string()); }
std::string text_in(const JsonValue& object, std::string_view key) { return text_of(object.at(key)); }
std::optional<std::string> text_or_null(const JsonValue& object, std::string_view key) {
  const auto value = object.find(key);
  return value ? std::optional(text_of(*value)) : std::nullopt;
}

Severity severity_in(const JsonValue& object) {
  return object.at("severity").string() == to_string(Severity::kWarning) ? Severity::kWarning
                                                                         : Severity::kError;
}

Rule read_rule(const JsonValue& value) {
  Rule rule;
  rule.name = text_in(value, "name");
  const std::string kind = text_in(value, "kind");
  while (kind != to_string(rule.kind)) {
    if (rule.kind == RuleKind::kSecurity) value.fail("unknown kind of rule");
    rule.kind = static_cast<RuleKind>(static_cast<int>(rule.kind) + 1);
  }
  rule.text = text_in(value, "text");
  rule.message = text_or_null(value, "message");
  rule.severity = severity_in(value);
  return rule;
}

OffencePlace read_place(const JsonValue& value) {
  OffencePlace place;
  // Only an offence of the file itself has no module.
  const auto module = text_or_null(value, "module");
  place.module = module.value_or("");
  place.node = text_or_null(value, "node");
  place.graph = text_or_null(value, "graph");
  place.record = text_or_null(value, "record");
  if (!module && !place.record) place.record = "";
  return place;
}

Offence read_offence(const JsonValue& value, const std::vector<Rule>& rules) {
  Offence offence;
  const auto rule = std::ranges::find(rules, text_in(value, "rule"), &Rule::name);
  if (rule == rules.end()) value.fail("the rule of the offence is not among the rules");
  offence.rule = static_cast<std::size_t>(rule - rules.begin());
  offence.is_undecided = value.at("undecided").boolean();
  offence.message = text_in(value, "message");
  offence.subject = text_or_null(value, "subject").value_or("");
  if (const auto source = value.find("source")) {
    const auto line = source->find("line");
    offence.source = {text_in(*source, "file"), line ? line->integer() : 0, text_in(*source, "function"),
                      text_in(*source, "text")};
  }
  for (const JsonValue place : value.at("places").items()) offence.places.push_back(read_place(place));
  return offence;
}

}  // namespace

CheckReport read_check_report(const std::string& text, const std::string& name) {
  const JsonDocument document(text, name);
  const JsonValue root = document.root();
  CheckReport report;
  const JsonValue model = root.at("model");
  report.model.file = text_in(model, "file");
  report.model.kind = text_in(model, "kind");
  report.model.type = text_or_null(model, "type").value_or("");
  report.model.method = text_in(model, "method");
  report.path = text_or_null(root, "path").value_or("");
  for (const JsonValue rule : root.at("rules").items()) report.rules.push_back(read_rule(rule));
  for (const JsonValue offence : root.at("offences").items())
    report.offences.push_back(read_offence(offence, report.rules));
  if (const auto amounts = root.find("amounts")) {
    auto offence = report.offences.begin();
    for (const JsonValue amount : amounts->items()) (offence++)->amount = amount.integer();
  }
  if (const auto unknown = root.find("unknown")) {
    for (const JsonValue value : unknown->items()) {
      CheckReport::Unknown& added = report.unknown.emplace_back();
      added.rule = static_cast<std::size_t>(value.at("rule").integer());
      if (added.rule >= report.rules.size()) value.fail("the rule of the name is not among the rules");
      added.name = text_in(value, "name");
      added.is_path = value.at("is_path").boolean();
      for (const JsonValue near : value.at("nearest").items()) added.nearest.push_back(text_of(near));
    }
  }
  return report;
}

}  // namespace fxtrace
