// The answer of `fxtrace check` as JSON.
#include "writers/check/check_words.h"
#include "writers/check/check_writers.h"
#include "writers/formats/json_parts.h"

namespace fxtrace {
namespace {

void write_rule(JsonEmitter& json, const CheckReport& report, const Rule& rule) {
  const auto index = static_cast<std::size_t>(&rule - report.rules.data());
  json.field("name", rule.name);
  json.field("kind", to_string(rule.kind));
  json.field("text", rule.text);
  json.field("message", rule.message);
  json.field("severity", to_string(rule.severity));
  json.field("offences", report.count(index));
  if (report.has_baseline) json.field("known", report.count_known(index));
}

void write_place(JsonEmitter& json, const OffencePlace& place) {
  place.record ? json.key("module").null() : json.field("module", place.module);
  json.field("node", place.node);
  json.field("graph", place.graph);
  place.record && !place.record->empty() ? json.field("record", *place.record) : json.key("record").null();
}

void write_offence(JsonEmitter& json, const CheckReport& report, const Offence& offence) {
  json.object_lines([&] {
    json.field("rule", report.rules[offence.rule].name);
    json.field("severity", to_string(report.rules[offence.rule].severity));
    json.field("undecided", offence.is_undecided);
    if (report.has_baseline) json.field("known", offence.is_known);
    json.field("message", offence.message);
    json.text_or_null("subject", offence.subject);
    write_source(json, offence.source);
    json.key("places").objects_lines(offence.places,
                                     [&](const OffencePlace& place) { write_place(json, place); });
  });
}

void write_gone(JsonEmitter& json, const GoneOffence& gone) {
  json.field("rule", gone.rule);
  json.text_or_null("subject", gone.subject);
  json.field("undecided", gone.is_undecided);
  json.field("module", gone.module);
  json.field("record", gone.record);
  json.field("known", gone.known);
  json.field("now", gone.now);
}

void write_counts(JsonEmitter& json, const auto& report, bool has_baseline) {
  json.field("holds", report.holds());
  json.field("errors", report.count(Severity::kError));
  json.field("warnings", report.count(Severity::kWarning));
  if (has_baseline) json.field("known", report.count_known());
}

void write_fields(JsonEmitter& json, const CheckReport& report) {
  json.key("model").object([&] { write_model_fields(json, report.model); });
  json.field("path", check_words::path(report));
  write_counts(json, report, report.has_baseline);
  json.key("rules").objects_lines(report.rules, [&](const Rule& rule) { write_rule(json, report, rule); });
  json.key("offences").list_lines(report.offences, [&](const Offence& offence) {
    write_offence(json, report, offence);
  });
  if (report.has_baseline)
    json.key("gone").objects_lines(report.gone, [&](const GoneOffence& gone) { write_gone(json, gone); });
}

}  // namespace

void write_check_json(const CheckReports& reports, std::ostream& out) {
  JsonEmitter json(out);
  json.document([&] {
    write_format(json, "fxtrace.check", 1);
    if (reports.models.size() == 1 && reports.unread.empty())
      return write_fields(json, reports.models.front());
    write_counts(json, reports, reports.has_baseline());
    json.key("reports").list_lines(reports.models, [&](const CheckReport& report) {
      json.object_lines([&] { write_fields(json, report); });
    });
    json.key("unread").objects_lines(reports.unread, [&](const CheckReports::Unread& unread) {
      json.field("path", unread.path);
      json.field("message", unread.message);
    });
  });
}

void write_check_report(const CheckReport& report, std::ostream& out) {
  JsonEmitter json(out);
  json.document([&] {
    write_fields(json, report);
    json.key("amounts").list(report.offences, [&](const Offence& offence) { json.value(offence.amount); });
    json.key("unknown").objects_lines(report.unknown, [&](const CheckReport::Unknown& unknown) {
      json.field("rule", unknown.rule);
      json.field("name", unknown.name);
      json.field("is_path", unknown.is_path);
      json.key("nearest").list(unknown.nearest, [&](const std::string& name) { json.value(name); });
    });
  });
}

}  // namespace fxtrace
