// The sentences of the answer of `fxtrace check`, for its text formats.  Each is one line of printable
// characters.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "rules/check.h"

namespace fxtrace::internal::check_words {

// Returns "model.pt2: 2 of 5 rules do not hold".
std::string headline(const CheckReport& report);
// Returns a rule's name, with its text if that says more.
std::string rule(const Rule& rule);
// Returns the offences against the rule that the baseline does not have.
std::vector<const Offence*> new_offences(const CheckReport& report, std::size_t rule);
// Returns "h.0 … h.11 (12 modules)"; empty if the offence is about the whole model.
std::string places(const Offence& offence);
// Returns "net.py:12: return x.item()"; empty if it is not known.
std::string source(const Offence& offence);
// Returns the source's file without the folders of the machine that saved the model: "pkg/net.py".
std::string source_file(const SourceLocation& source);
// Returns the rules without offences: "no-failed, max-params".
std::string rules_that_hold(const CheckReport& report);
// Returns "2 known offences".
std::string known_offences(std::size_t count);
// Returns the rules with known offences, and their numbers: "deny aten.item.* (2)".
std::string known_rules(const CheckReport& report);
// Returns the rules of which the baseline has offences that the model no longer has, and their numbers.
std::string gone_rules(const CheckReport& report);

}  // namespace fxtrace::internal::check_words
