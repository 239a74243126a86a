#include <string>
#include <vector>

#include "rules/rule_file.h"
#include "tests/fuzz/targets.h"

namespace fxtrace::fuzz {

void rules(std::string_view input) {
  const auto read_file = [](const std::string&) { return std::string("aten.add.*  # a comment\n*.relu\n"); };
  std::vector<Rule> read;
  accepts([&] { read_rules(input, "rules.json", read_file, read); });
  for (const Rule& rule : read) require(!rule.name.empty(), "a rule has a name");
}

}  // namespace fxtrace::fuzz
