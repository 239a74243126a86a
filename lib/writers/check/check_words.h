// What the formats of `fxtrace check` for people say, in one line each, of printable characters.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "rules/check.h"

namespace fxtrace::check_words {

// The model's file as it was given.
const std::string& path(const CheckReport& report);
// "model.pt2: 2 of 5 rules do not hold"
std::string headline(const CheckReport& report);
// "deny aten.item.*: no aten.item.*"
std::string rule(const Rule& rule);
// Those of a rule that the baseline does not have.
std::vector<const Offence*> new_offences(const CheckReport& report, std::size_t rule);
// "h.0 … h.11 (12 modules)"; empty where the offence is about the whole model.
std::string places(const Offence& offence);
// "net.py:12: return x.item()"; empty where it is not known.
std::string source(const Offence& offence);
// The source's file without the folders of the machine that saved the model: "pkg/net.py".
std::string source_file(const SourceLocation& source);
// "no-failed, max-params": the rules that nothing breaks.
std::string rules_that_hold(const CheckReport& report);
// "2 known offences"
std::string known_offences(std::size_t count);
// "deny aten.item.* (2)": the rules with known offences, and how many.
std::string known_rules(const CheckReport& report);
// The rules with offences that the baseline has more of than the model.
std::string gone_rules(const CheckReport& report);

}  // namespace fxtrace::check_words
