// The answer of `fxtrace check` as JSON.
#include <cstdint>
#include <vector>

#include "rules/check_fields.h"
#include "writers/check/check_writers.h"
#include "writers/formats/json_parts.h"

namespace fxtrace::internal {

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

}  // namespace fxtrace::internal
