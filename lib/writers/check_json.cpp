#include "writers/check_writers.h"
#include "writers/json_parts.h"

namespace fxtrace {
namespace {

void write_rule(JsonEmitter& json, const CheckReport& report, std::size_t index) {
  const Rule& rule = report.rules[index];
  json.object([&] {
    json.field("name", rule.name);
    json.field("kind", to_string(rule.kind));
    json.field("text", rule.text);
    json.field("message", rule.message);
    json.field("severity", to_string(rule.severity));
    json.field("offences", report.count(index));
  });
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
    json.field("message", offence.message);
    json.text_or_null("subject", offence.subject);
    write_source(json, offence.source);
    json.key("places").objects_lines(offence.places,
                                     [&](const OffencePlace& place) { write_place(json, place); });
  });
}

}  // namespace

void write_check_json(const CheckReport& report, std::ostream& out) {
  JsonEmitter json(out);
  json.document([&] {
    write_format(json, "fxtrace.check", 1);
    json.key("model").object([&] { write_model_fields(json, report.model); });
    json.field("holds", report.holds());
    json.field("errors", report.count(Severity::kError));
    json.field("warnings", report.count(Severity::kWarning));
    json.key("rules");
    json.open_lines('[');
    for (std::size_t i = 0; i < report.rules.size(); ++i) {
      json.item();
      write_rule(json, report, i);
    }
    json.close(']');
    json.key("offences").list_lines(report.offences, [&](const Offence& offence) {
      write_offence(json, report, offence);
    });
  });
}

}  // namespace fxtrace
