#include <string>

#include "support/printable.h"
#include "writers/check_words.h"
#include "writers/check_writers.h"

namespace fxtrace {
namespace {

constexpr std::size_t kMostTextOffences = 50;  // of a rule; JSON has all

void write_text(const CheckReport& report, std::ostream& out, const TextLayout& layout) {
  out << layout.paint(check_words::headline(report), kBold) << "\n";
  std::size_t at = 0;
  for (std::size_t rule = 0; rule < report.rules.size(); ++rule) {
    std::size_t count = 0;
    for (; at < report.offences.size() && report.offences[at].rule == rule; ++at) {
      const Offence& offence = report.offences[at];
      if (offence.is_known) continue;
      if (count++ == 0) {
        const Rule& broken = report.rules[rule];
        out << "\n"
            << layout.paint(to_string(broken.severity), broken.severity == Severity::kError ? kRed : kYellow)
            << "  " << layout.paint(check_words::rule(broken), kBold) << "\n";
        if (broken.message) out << "  " << short_line(*broken.message) << "\n";
      }
      if (count > kMostTextOffences) continue;
      out << "  " << short_line(offence.message) << "\n";
      const std::string places = check_words::places(offence);
      const std::string source = check_words::source(offence);
      if (places.empty() && source.empty()) continue;
      out << "    " << places << (places.empty() || source.empty() ? "" : "  ") << layout.paint(source, kDim)
          << "\n";
    }
    if (count > kMostTextOffences)
      out << "  ... and " << count - kMostTextOffences << " more (--json has all)\n";
  }
  if (report.offences.empty()) return;
  if (const std::string known = check_words::known_rules(report); !known.empty())
    out << "\n" << layout.paint("known", kBold) << "  " << known << "\n";
  if (const std::string held = check_words::rules_that_hold(report); !held.empty())
    out << "\n" << layout.paint("holds", kBold) << "  " << held << "\n";
}

}  // namespace

void write_check_text(const CheckReports& reports, std::ostream& out, const TextLayout& layout) {
  for (const CheckReport& report : reports.models) write_text(report, out, layout);
}

}  // namespace fxtrace
