// The answer of `fxtrace check` as text and as Markdown.
#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "support/text/printable.h"
#include "writers/check/check_words.h"
#include "writers/check/check_writers.h"
#include "writers/formats/document.h"
#include "writers/formats/markdown_text.h"

namespace fxtrace::internal {
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
    rules(is_markdown() ? "Holds" : "holds", check_words::rules_that_hold(report));
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

}  // namespace fxtrace::internal
