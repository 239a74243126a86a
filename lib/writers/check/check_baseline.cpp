// The baseline of `fxtrace check`: the offences that are known.
#include "rules/baseline.h"
#include "support/json_emitter.h"
#include "writers/check/check_writers.h"

namespace fxtrace::internal {

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
