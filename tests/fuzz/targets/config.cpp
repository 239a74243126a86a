// Fuzz target: configurations and fixed arguments.
#include "trace/options/options.h"

#include <string>
#include <vector>

#include "rules/rule.h"
#include "tests/fuzz/sample_modules.h"
#include "tests/fuzz/targets.h"
#include "trace/options/input_spec.h"

namespace fxtrace::internal::fuzz {

void config(std::string_view input) {
  accepts([&] { parse_concrete(input, "--concrete x"); });
  std::vector<Rule> rules;
  const auto read_file = [](const std::string&) { return "aten.add"; };
  accepts([&] { read_rules(input, "check.json", read_file, [](const Rule&) {}, rules); });
  Config config;
  if (!accepts([&] { read_config(input, "config.json", config); })) return;
  const std::string options = options_json(config);
  // Only the base names of libraries are written.
  Config again;
  read_config(options, "options", again);
  if (config.options.op_libraries.empty()) {
    require(options_json(again) == options, "the options of a collection are a configuration");
  }
  accepts([&] { decide_leaves(config.options); });
  accepts([&] { make_dimensions(config.options); });
}

}  // namespace fxtrace::internal::fuzz
