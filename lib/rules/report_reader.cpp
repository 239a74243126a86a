#include "rules/report_reader.h"

#include <cstdint>
#include <tuple>
#include <vector>

#include "rules/check_fields.h"
#include "support/field_reader.h"

namespace fxtrace::internal {
namespace {

class ReportReader : public FieldReader<ReportReader> {
 public:
  static constexpr std::tuple kLast{RuleKind::kSecurity, Severity::kWarning};

  CheckReport report(const JsonValue& root) {
    CheckReport report;
    std::vector<std::int64_t> amounts;
    object(root, [&] {
      describe(*this, report);
      field("amounts", amounts);
      field("unknown", report.unknown);
    });
    if (amounts.size() != report.offences.size()) root.at("amounts").fail("expected one of each offence");
    for (std::size_t i = 0; i < amounts.size(); ++i) report.offences[i].amount = amounts[i];
    for (const CheckReport::Unknown& unknown : report.unknown) {
      if (unknown.rule >= report.rules.size())
        root.at("unknown").fail("the rule of the name is not among the rules");
    }
    return report;
  }
};

}  // namespace

CheckReport read_check_report(const std::string& text, const std::string& name) {
  const JsonDocument document(text, name);
  return ReportReader().report(document.root());
}

}  // namespace fxtrace::internal
