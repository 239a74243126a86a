#include "writers/check/check_writers.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "graph/analysis/text_form.h"
#include "rules/check_reports.h"
#include "support/json_emitter.h"
#include "support/text/numbers.h"
#include "support/text/qualified_name.h"
#include "support/text/unicode.h"
#include "support/text/words.h"
#include "writers/formats/document.h"
#include "writers/formats/field_writer.h"
#include "writers/formats/markup_text.h"

namespace fxtrace::internal::check_words {
namespace {

constexpr std::size_t kMostNames = 3;  // names that are listed in full

// Returns "a, b, c"; for more names "a … f (6 modules)".
std::string list(const std::vector<std::string>& names, const char* what) {
  if (names.size() <= kMostNames) return joined(names, short_line);
  return short_line(names.front()) + " … " + short_line(names.back()) + " (" +
         with_separators(static_cast<std::int64_t>(names.size())) + " " + what + ")";
}

// Returns the rules with a count above 0: "deny aten.item.* (2)".
template <class Count>
std::string counted_rules(const CheckReport& report, Count count_of) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < report.rules.size(); ++i) {
    if (const auto count = count_of(i); count > 0)
      names.push_back(short_line(report.rules[i].name) + " (" + std::to_string(count) + ")");
  }
  return joined(names);
}

}  // namespace

std::string headline(const CheckReport& report) {
  std::int64_t broken = 0;
  for (std::size_t i = 0; i < report.rules.size(); ++i) broken += report.count(i) > 0 ? 1 : 0;
  const auto count = static_cast<std::int64_t>(report.rules.size());
  const std::string file = short_line(report.path) + ": ";
  if (count == 0) return file + "no rule to check";
  const std::size_t known = report.count_known();
  const std::string known_text = known == 0 ? "" : ", " + known_offences(known);
  if (broken == 0 && known > 0) return file + "no new offence" + known_text;
  if (broken == 0)
    return file + (count == 1 ? "the rule holds" : "all " + with_separators(count) + " rules hold");
  const std::string of = " of " + with_separators(count) + (count == 1 ? " rule" : " rules");
  const std::string text =
      file + with_separators(broken) + of + (broken == 1 ? " does not hold" : " do not hold") + known_text;
  return report.holds() ? text + ", warnings only" : text;
}

std::string rule(const Rule& rule) {
  constexpr std::string_view kNo = "no ";
  const bool says_it = rule.text == rule.name ||
                       (rule.kind == RuleKind::kDeny && rule.name.ends_with(rule.text.substr(kNo.size())));
  return short_line(rule.name) + (says_it ? "" : ": " + short_line(rule.text));
}

std::vector<const Offence*> new_offences(const CheckReport& report, std::size_t rule) {
  std::vector<const Offence*> offences;
  for (const Offence& offence : report.offences) {
    if (offence.rule == rule && !offence.is_known) offences.push_back(&offence);
  }
  return offences;
}

std::string places(const Offence& offence) {
  // Places are in the order of the model, those of one module together.
  std::vector<std::string> modules, nodes, records;
  for (const OffencePlace& place : offence.places) {
    if (!place.module) {
      if (!place.record.empty()) records.push_back(place.record);
      continue;
    }
    const std::string path = path_text(*place.module);
    if (modules.empty() || modules.back() != path) modules.push_back(path);
    if (place.node) nodes.push_back(*place.node);
  }
  if (!records.empty()) return list(records, "records");
  const std::string text = list(modules, "modules");
  if (modules.size() != 1 || nodes.empty()) return text;
  std::vector<std::string> marked;
  for (const std::string& node : nodes) marked.push_back("%" + node);
  return text + ": " + list(marked, "nodes");
}

std::string source(const Offence& offence) {
  if (!offence.source) return "";
  SourceLocation source = *offence.source;
  source.file = source_file(source);
  return short_line(place_text(source));
}

std::string source_file(const SourceLocation& source) {
  const std::string& file = source.file;
  if (!file.starts_with('/')) return file;
  // The file of an installed package is given by its path in the package.
  for (const std::string_view packages : {"/site-packages/", "/dist-packages/"}) {
    if (const std::size_t at = file.rfind(packages); at != std::string::npos)
      return file.substr(at + packages.size());
  }
  return file.substr(file.rfind('/') + 1);
}

std::vector<std::string> rules_that_hold(const CheckReport& report) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < report.rules.size(); ++i) {
    if (report.count(i) + report.count_known(i) == 0) names.push_back(short_line(report.rules[i].name));
  }
  return names;
}

std::string known_offences(std::size_t count) {
  return counted(static_cast<std::int64_t>(count), "known offence");
}

std::string known_rules(const CheckReport& report) {
  return counted_rules(report, [&](std::size_t rule) { return report.count_known(rule); });
}

std::string gone_rules(const CheckReport& report) {
  return counted_rules(report, [&](std::size_t rule) {
    return std::ranges::count(report.gone, report.rules[rule].name, &GoneOffence::rule);
  });
}

}  // namespace fxtrace::internal::check_words

namespace fxtrace::internal {

// The answer of `fxtrace check` as text and as Markdown.

namespace {

class CheckText : Document {
 public:
  using Document::Document;

  void write(const CheckReport& report) {
    title(check_words::headline(report));
    if (is_markdown()) {
      offences(report);
    } else {
      for (std::size_t i = 0; i < report.rules.size(); ++i) rule(report, i);
      if (report.offences.empty()) return;
    }
    rules(is_markdown() ? "Known" : "known", check_words::known_rules(report));
    const std::vector<std::string> holding = check_words::rules_that_hold(report);
    if (!is_markdown()) {
      rules("holds", joined(holding));
    } else if (!holding.empty()) {
      const auto count = static_cast<std::int64_t>(holding.size());
      line("\n<details><summary>" + counted(count, "rule") + (count == 1 ? " holds" : " hold") +
           "</summary>\n\n" + joined(holding, markdown_code) + "\n\n</details>");
    }
    if (is_markdown()) rules("In the baseline, but no longer found", check_words::gone_rules(report));
  }
  void title(const std::string& text) {
    line(is_markdown() ? "**" + markdown_sentence(text) + "**" : bold(text));
  }

 private:
  void rules(const std::string& label, const std::string& names) {
    if (names.empty()) return;
    line("\n" + (is_markdown() ? label + ": " + markdown_code(names) : bold(label) + "  " + names));
  }

  void rule(const CheckReport& report, std::size_t index) {
    constexpr std::size_t kMost = 50;  // offences of a rule; JSON has all
    const Rule& rule = report.rules[index];
    const auto offences = check_words::new_offences(report, index);
    if (offences.empty()) return;
    const char* colour = rule.severity == Severity::kError ? kRed : kYellow;
    line("\n" + layout_.paint(to_string(rule.severity), colour) + "  " + bold(check_words::rule(rule)));
    if (rule.message) line("  " + short_line(*rule.message));
    const std::size_t shown = std::min(offences.size(), kMost);
    for (std::size_t i = 0; i < shown; ++i) {
      line("  " + short_line(offences[i]->message));
      const std::string places = check_words::places(*offences[i]);
      const std::string source = check_words::source(*offences[i]);
      if (places.empty() && source.empty()) continue;
      line("    " + places + (places.empty() || source.empty() ? "" : "  ") + dim(source));
    }
    left_out(offences.size() - shown, nullptr, "  ");
  }

  // Writes the table of Markdown.
  void offences(const CheckReport& report) {
    // GitHub takes 65,536 characters in a comment, 1 MiB in a summary.
    constexpr std::size_t kMost = 200;
    TextTable table{{{""}, {"Rule"}, {"Offence"}, {"Where"}, {"Source"}}};
    std::size_t left = 0;
    for (const Offence& offence : report.offences) {
      if (offence.is_known) continue;
      if (table.rows.size() == kMost) {
        ++left;
        continue;
      }
      const Rule& rule = report.rules[offence.rule];
      TableRow& row = table.rows.emplace_back();
      row.emplace_back(to_string(rule.severity));
      for (const std::string& text : {short_line(rule.name), short_line(offence.message),
                                      check_words::places(offence), check_words::source(offence)})
        row.emplace_back(text).markdown = markdown_code(text);
      if (rule.message) row[2].markdown += "<br>" + markdown_code(short_line(*rule.message));
    }
    if (table.rows.empty()) return;
    line();
    this->table(std::move(table), left);
  }
};

}  // namespace

void write_check(const CheckReports& reports, std::ostream& out, const TextLayout& layout) {
  CheckText text(out, layout);
  const char* between = "";
  const auto begin = [&] {
    if (layout.is_markdown) out << std::exchange(between, "\n");
  };
  for (const CheckReport& report : reports.models) {
    begin();
    text.write(report);
  }
  if (!layout.is_markdown) return;
  for (const auto& [path, message] : reports.unread) {
    begin();
    text.title(short_line(path + ": " + message));
  }
}

// The answer of `fxtrace check` as JSON.

void write_check_json(const CheckReports& reports, std::ostream& out) {
  if (reports.models.size() == 1 && reports.unread.empty())
    return write_report(reports.models.front(), "fxtrace.check", out);
  write_report(reports, "fxtrace.check", out);
}

void write_check_report(const CheckReport& report, std::ostream& out) {
  JsonEmitter json(out);
  json.document([&] {
    FieldWriter io(json, true);
    describe(io, report);
    std::vector<std::int64_t> amounts;
    for (const Offence& offence : report.offences) amounts.push_back(offence.amount);
    io.field("amounts", amounts);
    io.field("unknown", report.unknown);
  });
}

// The baseline of `fxtrace check`: the offences that are known.

// Leaves out the producer, so that the file changes with its offences only, not with the version of fxtrace.
void write_check_baseline(const Baseline& baseline, std::ostream& out) {
  JsonEmitter json(out);
  json.document([&] {
    json.field("format", "fxtrace.check_baseline");
    json.field("version", 1);
    json.key("rules").objects_lines(baseline.rules, [&](const auto& rule) {
      json.field("name", rule.first);
      json.field("text", rule.second);
    });
    json.key("offences").objects_lines(baseline.offences, [&](const auto& entry) {
      const KnownOffence& offence = entry.first;
      json.field("model", offence.model);
      json.field("rule", offence.rule);
      if (!offence.subject.empty()) json.field("subject", offence.subject);
      if (offence.is_undecided) json.field("undecided", true);
      if (offence.module) json.field("module", *offence.module);
      if (offence.record) json.field("record", *offence.record);
      json.field("count", entry.second);
    });
  });
}

}  // namespace fxtrace::internal
