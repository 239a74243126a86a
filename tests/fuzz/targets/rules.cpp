// Fuzz target: rules of check.
#include <string>
#include <vector>

#include "rules/check_reports.h"
#include "rules/rule.h"
#include "tests/fuzz/targets.h"

namespace fxtrace::internal::fuzz {

void rules(std::string_view input) {
  const auto read_file = [](const std::string&) { return std::string("aten.add.*  # a comment\n*.relu\n"); };
  std::vector<Rule> read;
  accepts([&] { read_rules(input, "rules.json", read_file, [](const Rule&) {}, read); });
  for (const Rule& rule : read) require(!rule.name.empty(), "a rule has a name");
  Baseline baseline;
  accepts([&] { baseline = read_baseline(input, "known.json"); });
  for (const auto& [offence, count] : baseline.offences)
    require(baseline.rules.contains(offence.rule), "an offence has its rule");
}

}  // namespace fxtrace::internal::fuzz
