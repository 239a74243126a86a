// Reports of `fxtrace check` as JSON: their fields, and a reader.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/collection_fields.h"
#include "rules/check.h"

namespace fxtrace::internal {

// Report reader: reads the output of `fxtrace check --json` for one model.

// Reads a report.  `name` names the text in errors.  Its rules have the parts that are shown to users, and
// not the parts that are checked.  Throws Error(kInput).
CheckReport read_check_report(const std::string& text, const std::string& name);

// The JSON of a check's report, described once as graph/collection_fields.h describes that of a collection:
// writers/check/check_writers.cpp writes it, check_reports.cpp reads it, schemas/check.schema.json says it to
// others.

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
    io.field("id", rule.id);
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
    io.derived("id", report.rules[offence.rule].id);
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

// Baseline: the known offences in the file of `fxtrace check --baseline`, which people commit, and the new
// offences of a report.

// An offence in a form that stays the same when a model changes elsewhere: without lines of code and names of
// nodes.
struct KnownOffence {
  std::string model;  // path_from_here()
  std::string rule;
  // The subject of the offence.  An offence of the file itself without a subject has its message, without
  // numbers.
  std::string subject;
  bool is_undecided = false;
  std::optional<std::string> module, record;  // neither: the whole model
  auto operator<=>(const KnownOffence&) const = default;
};

struct Baseline {
  std::map<std::string, std::string> rules;  // Rule::text by name, for rules with offences
  // The number of places of each offence, or Offence::amount for the whole model.  More than that is new.
  std::map<KnownOffence, std::int64_t> offences;
};

// Reads a baseline.  Throws Error(kUsage) with the place in `file`.
Baseline read_baseline(std::string_view text, const std::string& file);

// Checks that the baseline is for these rules.  Throws Error(kUsage) if it has offences of a rule that is not
// among them or has another text, because these offences cannot be compared.
void check_is_for(const Baseline& baseline, const std::vector<Rule>& rules, const std::string& file);

// Marks known offences.  For an offence in several modules, the modules where it is known become an offence
// of their own.  In a module with more places than are known, all of them are new, because it is not known
// which are the old ones.  Adds the known offences that are gone.
void apply_baseline(const Baseline& baseline, CheckReport& report);

// Returns a baseline with the offences of the reports, and those of `before` for other models that still
// exist according to `is_there`.  Throws Error(kUsage) as check_is_for() does for the rules of the latter.
Baseline baseline_of(const std::vector<CheckReport>& reports, const Baseline& before,
                     const std::vector<Rule>& rules, const std::string& file,
                     const std::function<bool(const std::string& model)>& is_there);

// Returns the models with offences, sorted.
std::vector<std::string> models_of(const Baseline& baseline);

// Returns the path as a repository has it: without "./" and "a/..", and relative to the current folder if it
// is inside.
std::string path_from_here(const std::string& given);

}  // namespace fxtrace::internal
