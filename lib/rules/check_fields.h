// The JSON of a check's report, described once as graph/collection_fields.h describes that of a collection:
// writers/check/check_json.cpp writes it, report_reader.cpp reads it, schemas/check.schema.json says it to
// others.
#pragma once

#include "graph/collection_fields.h"
#include "rules/check.h"

namespace fxtrace::internal {

template <>
inline constexpr bool kOnLines<Offence> = true;
template <>
inline constexpr bool kOnLines<CheckReport> = true;

void describe(auto& io, Like<OffencePlace> auto& place) {
  io.nullable("module", place.module);
  io.nullable("node", place.node);
  io.nullable("graph", place.graph);
  io.nullable("record", place.record);
}

void describe(auto& io, Like<GoneOffence> auto& gone) {
  io.field("rule", gone.rule);
  io.nullable("subject", gone.subject);
  io.field("undecided", gone.is_undecided);
  io.nullable("module", gone.module);
  io.nullable("record", gone.record);
  io.field("known", gone.known);
  io.field("now", gone.now);
}

void describe(auto& io, Like<CheckReport::Unknown> auto& unknown) {
  io.field("rule", unknown.rule);
  io.field("name", unknown.name);
  io.field("is_path", unknown.is_path);
  io.field("nearest", unknown.nearest);
}

void describe(auto& io, Like<CheckReports::Unread> auto& unread) {
  io.field("path", unread.path);
  io.field("message", unread.message);
}

// The numbers of one report, or of several together.
void describe_counts(auto& io, const auto& report, bool has_baseline) {
  io.derived("holds", report.holds());
  io.derived("errors", report.count(Severity::kError));
  io.derived("warnings", report.count(Severity::kWarning));
  if (io.has("known", has_baseline)) io.derived("known", report.count_known());
}

void describe(auto& io, Like<CheckReport> auto& report) {
  io.field("model", report.model);
  io.field("path", report.path);
  describe_counts(io, report, report.has_baseline);
  io.lines("rules", report.rules, [&](auto& rule) {
    const auto index = static_cast<std::size_t>(&rule - report.rules.data());
    io.field("name", rule.name);
    io.field("kind", rule.kind);
    io.field("text", rule.text);
    io.nullable("message", rule.message);
    io.field("severity", rule.severity);
    io.derived("offences", report.count(index));
    if (io.has("known", report.has_baseline)) io.derived("known", report.count_known(index));
  });
  io.lines("offences", report.offences, [&](auto& offence) {
    io.named("rule", offence.rule, report.rules, &Rule::name);
    io.derived("severity", report.rules[offence.rule].severity);
    io.field("undecided", offence.is_undecided);
    if (io.has("known", report.has_baseline)) io.field("known", offence.is_known);
    io.field("message", offence.message);
    io.nullable("subject", offence.subject);
    io.nullable("source", offence.source);
    io.field("places", offence.places);
  });
  if (io.has("gone", report.has_baseline)) io.field("gone", report.gone);
}

void describe(auto& io, Like<CheckReports> auto& reports) {
  describe_counts(io, reports, reports.has_baseline());
  io.field("reports", reports.models);
  io.field("unread", reports.unread);
}

}  // namespace fxtrace::internal
