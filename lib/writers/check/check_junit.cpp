// The answer of `fxtrace check` as JUnit's XML.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "support/text/printable.h"
#include "writers/check/check_words.h"
#include "writers/check/check_writers.h"
#include "writers/formats/html_text.h"

namespace fxtrace::internal {
namespace {

// Returns text of printable characters, for elements and attributes.
std::string xml_text(std::string_view text) {
  std::string result;
  for_each_printable(text, result, "\\", [&](std::string_view bytes, char32_t c) {
    switch (c) {
      case '&':
      case '<':
      case '>':
        result += entity_of(c);
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      case 0xFFFE:  // forbidden in XML
      case 0xFFFF:
        result += escaped(c);
        break;
      default:
        result += bytes;
    }
  });
  return result;
}

std::string attribute(const char* name, std::string_view text) {
  return std::string(" ") + name + "=\"" + xml_text(text) + "\"";
}

// Writes a line for each offence.
void write_offences(const std::vector<const Offence*>& offences, std::size_t known, std::ostream& out) {
  for (const Offence* offence : offences) {
    out << xml_text(short_line(offence->message));
    for (const std::string& more : {check_words::places(*offence), check_words::source(*offence)}) {
      if (!more.empty()) out << "; " << xml_text(more);
    }
    out << "\n";
  }
  if (known > 0) out << check_words::known_offences(known) << "\n";
}

// Returns whether all offences against the rule are known.
bool is_skipped(const CheckReport& report, std::size_t rule) {
  return report.count(rule) == 0 && report.count_known(rule) > 0;
}

// The counts of a test suite.
struct Counts {
  std::size_t tests = 0, failures = 0, errors = 0, skipped = 0;

  std::string attributes() const {
    return attribute("tests", std::to_string(tests)) + attribute("failures", std::to_string(failures)) +
           attribute("errors", std::to_string(errors)) +
           (skipped == 0 ? "" : attribute("skipped", std::to_string(skipped)));
  }
};

Counts counts_of(const CheckReport& report) {
  Counts counts{.tests = report.rules.size()};
  for (std::size_t rule = 0; rule < report.rules.size(); ++rule) {
    counts.failures += report.rules[rule].severity == Severity::kError && report.count(rule) > 0 ? 1 : 0;
    counts.skipped += is_skipped(report, rule) ? 1 : 0;
  }
  return counts;
}

void write_suite(const CheckReport& report, std::ostream& out) {
  out << "  <testsuite" << attribute("name", report.path) << counts_of(report).attributes() << ">\n";
  for (std::size_t index = 0; index < report.rules.size(); ++index) {
    const Rule& rule = report.rules[index];
    out << "    <testcase" << attribute("classname", report.path) << attribute("name", rule.name);
    const auto offences = check_words::new_offences(report, index);
    const std::size_t known = report.count_known(index);
    if (offences.empty() && known == 0) {
      out << "/>\n";
      continue;
    }
    out << ">\n";
    if (offences.empty()) {
      out << "      <skipped" << attribute("message", check_words::known_offences(known)) << "/>\n";
    } else if (rule.severity == Severity::kError) {
      const std::string message = rule.message ? short_line(*rule.message) : check_words::rule(rule);
      out << "      <failure" << attribute("type", offences.front()->is_undecided ? "undecided" : "offence")
          << attribute("message", message) << ">";
      write_offences(offences, known, out);
      out << "</failure>\n";
    } else {
      out << "      <system-out>";
      write_offences(offences, known, out);
      out << "</system-out>\n";
    }
    out << "    </testcase>\n";
  }
  out << "  </testsuite>\n";
}

void write_unread(const CheckReports::Unread& unread, std::ostream& out) {
  out << "  <testsuite" << attribute("name", unread.path) << Counts{.tests = 1, .errors = 1}.attributes()
      << ">\n    <testcase" << attribute("classname", unread.path) << attribute("name", "read")
      << ">\n      <error" << attribute("type", "unread") << attribute("message", unread.message)
      << "/>\n    </testcase>\n  </testsuite>\n";
}

}  // namespace

void write_check_junit(const CheckReports& reports, std::ostream& out) {
  Counts all{.tests = reports.unread.size(), .errors = reports.unread.size()};
  for (const CheckReport& report : reports.models) {
    const Counts counts = counts_of(report);
    all.tests += counts.tests;
    all.failures += counts.failures;
    all.skipped += counts.skipped;
  }
  out << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" << attribute("name", "fxtrace check")
      << all.attributes() << ">\n";
  for (const CheckReport& report : reports.models) write_suite(report, out);
  for (const CheckReports::Unread& unread : reports.unread) write_unread(unread, out);
  out << "</testsuites>\n";
}

}  // namespace fxtrace::internal
