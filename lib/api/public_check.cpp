#include "fxtrace/check.h"

#include <ostream>

#include "api/public_parts.h"
#include "partition/operator_set.h"
#include "pipelines/answers/model_check.h"
#include "pipelines/backends.h"
#include "rules/rule_file.h"
#include "support/error.h"
#include "writers/check/check_writers.h"

namespace fxtrace {

Rules::Rules() : list_(std::make_unique<internal::RuleList>()) {}
Rules::~Rules() = default;
Rules::Rules(const Rules& other) : list_(std::make_unique<internal::RuleList>(*other.list_)) {}
Rules& Rules::operator=(const Rules& other) {
  if (this != &other) *list_ = *other.list_;
  return *this;
}

Rules& Rules::add(internal::Rule rule) {
  add_rule(list_->rules, std::move(rule));
  return *this;
}

Rules& Rules::no_failed() { return add(internal::no_failed_rule()); }
Rules& Rules::max_parameters(std::int64_t most) {
  return add(internal::limit_rule(internal::RuleKind::kMaxParameters, most));
}
Rules& Rules::max_macs(std::int64_t most) {
  return add(internal::limit_rule(internal::RuleKind::kMaxMacs, most));
}
Rules& Rules::max_activations(std::int64_t bytes) {
  return add(internal::limit_rule(internal::RuleKind::kMaxActivations, bytes));
}
Rules& Rules::max_peak(std::int64_t bytes) {
  return add(internal::limit_rule(internal::RuleKind::kMaxPeak, bytes));
}
Rules& Rules::deny(const std::string& glob) { return add(internal::deny_rule(glob)); }
Rules& Rules::require(const std::string& text) { return add(internal::require_rule(text)); }
Rules& Rules::operators(const std::string& globs) { return add(internal::ops_rule(globs, "operators")); }
Rules& Rules::backend(const std::string& set) {
  if (internal::find_shipped_set(set) == nullptr) throw internal::no_such_set(set);
  return add(internal::backend_rule(set, ""));
}
Rules& Rules::backend(const std::string& name, const std::string& set) {
  internal::Rule rule = internal::backend_rule(name, set);
  static_cast<void>(set_of(rule));  // a wrong one is told here
  return add(std::move(rule));
}
Rules& Rules::program() {
  for (internal::Rule& rule : internal::program_rules()) add(std::move(rule));
  return *this;
}
Rules& Rules::content() { return add(internal::content_rule()); }
Rules& Rules::security() {
  for (internal::Rule& rule : internal::security_rules()) add(std::move(rule));
  return *this;
}
Rules& Rules::json(const std::string& text, const std::string& name) {
  const auto no_files = [](const std::string& file) -> std::string {
    throw internal::usage_error("rules that are not in a file cannot name files").at(file);
  };
  read_rules(text, name, no_files, internal::check_set, list_->rules);
  return *this;
}

bool CheckReport::holds() const { return data_->holds(); }

std::vector<CheckReport::Offence> CheckReport::offences() const {
  std::vector<Offence> offences;
  for (const internal::CheckReport& report : data_->models) {
    for (const internal::Offence& each : report.offences) {
      const internal::Rule& rule = report.rules[each.rule];
      Offence& offence = offences.emplace_back();
      offence.rule = rule.name;
      offence.is_warning = rule.severity == internal::Severity::kWarning;
      offence.is_undecided = each.is_undecided;
      offence.message = each.message;
      offence.subject = each.subject;
      offence.source = each.source;
      for (const internal::OffencePlace& place : each.places)
        offence.places.push_back({place.module, place.node, place.record});
    }
  }
  return offences;
}

void CheckReport::write(std::ostream& out, Format format) const {
  switch (format) {
    case Format::kText:
      return write_check(*data_, out, {});
    case Format::kMarkdown:
      return write_check(*data_, out, {.is_markdown = true});
    case Format::kJson:
      return write_check_json(*data_, out);
    case Format::kJunit:
      return write_check_junit(*data_, out);
    case Format::kSarif:
      return write_check_sarif(*data_, out);
  }
  internal::fail_for_format("a check");
}

CheckReport check(const Model& model, const Rules& rules, const TraceOptions& options,
                  const Listener& listener) {
  internal::Config config = internal::config_of(options);
  internal::LibraryRun run(config, model.file(), listener);
  internal::CheckRequest request;
  request.rules = rules.list_->rules;
  request.has_trace_options = are_given(config);
  internal::CheckReports reports{{check_model(config, std::move(request), model.file(), run)}, {}};
  refuse_unknown_names(reports);
  return CheckReport(std::make_shared<const internal::CheckReports>(std::move(reports)));
}

}  // namespace fxtrace
