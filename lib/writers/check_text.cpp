#include "writers/check_text.h"

#include <string>

#include "writers/check_words.h"

namespace fxtrace {
namespace {

namespace words = check_words;

constexpr std::size_t kMostOffences = 50;  // of a rule; JSON has all
constexpr const char* kBold = "\033[1m";
constexpr const char* kDim = "\033[2m";
constexpr const char* kRed = "\033[31m";
constexpr const char* kYellow = "\033[33m";

}  // namespace

void write_check_text(const CheckReport& report, std::ostream& out, const TextLayout& layout) {
  const auto paint = [&](const std::string& text, const char* colour) {
    return layout.colour ? colour + text + "\033[0m" : text;
  };
  out << paint(words::headline(report), kBold) << "\n";
  std::size_t at = 0;
  for (std::size_t rule = 0; rule < report.rules.size(); ++rule) {
    std::size_t count = 0;
    for (; at < report.offences.size() && report.offences[at].rule == rule; ++at) {
      const Offence& offence = report.offences[at];
      if (count++ == 0) {
        const Rule& broken = report.rules[rule];
        out << "\n"
            << paint(to_string(broken.severity), broken.severity == Severity::kError ? kRed : kYellow) << "  "
            << paint(words::rule(broken), kBold) << "\n";
        if (broken.message) out << "  " << words::safe(*broken.message) << "\n";
      }
      if (count > kMostOffences) continue;
      out << "  " << words::safe(offence.message) << "\n";
      const std::string places = words::places(offence);
      const std::string source = words::source(offence);
      if (places.empty() && source.empty()) continue;
      out << "    " << places << (places.empty() || source.empty() ? "" : "  ") << paint(source, kDim)
          << "\n";
    }
    if (count > kMostOffences) out << "  ... and " << count - kMostOffences << " more (--json has all)\n";
  }
  const std::string held = words::rules_that_hold(report);
  if (!held.empty() && !report.offences.empty()) out << "\n" << paint("holds", kBold) << "  " << held << "\n";
}

}  // namespace fxtrace
