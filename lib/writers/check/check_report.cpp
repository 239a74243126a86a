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
    line(bold(check_words::headline(report)));
    for (std::size_t i = 0; i < report.rules.size(); ++i) rule(report, i);
    if (report.offences.empty()) return;
    if (const std::string known = check_words::known_rules(report); !known.empty())
      line("\n" + bold("known") + "  " + known);
    if (const std::string held = check_words::rules_that_hold(report); !held.empty())
      line("\n" + bold("holds") + "  " + held);
  }

 private:
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
};

void write_section(const CheckReport& report, std::ostream& out) {
  constexpr std::size_t kMost =
      200;  // offences: GitHub takes 65,536 characters in a comment, 1 MiB in a summary
  out << "**" << markdown_sentence(check_words::headline(report)) << "**\n";
  const std::size_t count = report.offences.size() - report.count_known();
  if (count > 0) out << "\n| | Rule | Offence | Where | Source |\n|---|---|---|---|---|\n";
  std::size_t shown = 0;
  for (const Offence& offence : report.offences) {
    if (offence.is_known || shown++ >= kMost) continue;
    const Rule& rule = report.rules[offence.rule];
    out << "| " << to_string(rule.severity) << " | " << markdown_code(short_line(rule.name)) << " | "
        << markdown_code(short_line(offence.message));
    if (rule.message) out << "<br>" << markdown_code(short_line(*rule.message));
    out << " | " << markdown_code(check_words::places(offence)) << " | "
        << markdown_code(check_words::source(offence)) << " |\n";
  }
  if (count > kMost) out << "\n... and " << count - kMost << " more\n";
  for (const auto& [label, rules] :
       {Line("Known", check_words::known_rules(report)), Line("Holds", check_words::rules_that_hold(report)),
        Line("In the baseline, but no longer found", check_words::gone_rules(report))}) {
    if (!rules.empty()) out << "\n" << label << ": " << markdown_code(rules) << "\n";
  }
}

}  // namespace

void write_check_text(const CheckReports& reports, std::ostream& out, const TextLayout& layout) {
  for (const CheckReport& report : reports.models) CheckText(out, layout).write(report);
}

void write_check_markdown(const CheckReports& reports, std::ostream& out) {
  const char* between = "";
  for (const CheckReport& report : reports.models) {
    out << std::exchange(between, "\n");
    write_section(report, out);
  }
  for (const auto& [path, message] : reports.unread)
    out << std::exchange(between, "\n") << "**" << markdown_sentence(short_line(path + ": " + message))
        << "**\n";
}

}  // namespace fxtrace::internal
