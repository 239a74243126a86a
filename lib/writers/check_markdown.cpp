#include <string>
#include <utility>

#include "support/printable.h"
#include "writers/check_words.h"
#include "writers/check_writers.h"
#include "writers/markdown_text.h"

namespace fxtrace {
namespace {

constexpr std::size_t kMostOffences = 200;  // GitHub takes 65,536 characters in a comment, a MiB in a summary

void write_section(const CheckReport& report, std::ostream& out) {
  out << "**" << markdown_sentence(check_words::headline(report)) << "**\n";
  const std::size_t fresh = report.offences.size() - report.count_known();
  if (fresh > 0) out << "\n| | Rule | Offence | Where | Source |\n|---|---|---|---|---|\n";
  std::size_t count = 0;
  for (const Offence& offence : report.offences) {
    if (offence.is_known) continue;
    if (count++ == kMostOffences) break;
    const Rule& rule = report.rules[offence.rule];
    out << "| " << to_string(rule.severity) << " | " << markdown_code(short_line(rule.name)) << " | "
        << markdown_code(short_line(offence.message));
    if (rule.message) out << "<br>" << markdown_code(short_line(*rule.message));
    out << " | " << markdown_code(check_words::places(offence)) << " | "
        << markdown_code(check_words::source(offence)) << " |\n";
  }
  if (fresh > kMostOffences) out << "\n... and " << fresh - kMostOffences << " more\n";
  const std::string known = check_words::known_rules(report);
  if (!known.empty()) out << "\nKnown: " << markdown_code(known) << "\n";
  const std::string held = check_words::rules_that_hold(report);
  if (!held.empty()) out << "\nHolds: " << markdown_code(held) << "\n";
  if (const std::string gone = check_words::gone_rules(report); !gone.empty())
    out << "\nMore in the baseline than there is: " << markdown_code(gone) << "\n";
}

}  // namespace

void write_check_markdown(const CheckReports& reports, std::ostream& out) {
  bool is_first = true;
  const auto separate = [&] {
    if (!std::exchange(is_first, false)) out << "\n";
  };
  for (const CheckReport& report : reports.models) {
    separate();
    write_section(report, out);
  }
  for (const CheckReports::Unread& unread : reports.unread) {
    separate();
    out << "**" << markdown_sentence(short_line(unread.path + ": " + unread.message)) << "**\n";
  }
}

}  // namespace fxtrace
