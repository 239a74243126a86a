// Writes the answer of `fxtrace check`.
#pragma once

#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

#include "rules/check.h"
#include "rules/check_reports.h"
#include "writers/formats/text_layout.h"

namespace fxtrace::internal {

// Writes text or GitHub's Markdown.  In text, models that could not be read are left out, as the command
// reports them as errors.
void write_check(const CheckReports& reports, std::ostream& out, const TextLayout& layout);
// Writes JSON (schemas/check.schema.json); for one model, the report itself.
void write_check_json(const CheckReports& reports, std::ostream& out);
// Writes the input of read_check_report(): the JSON of one model, with the names that are unknown.
void write_check_report(const CheckReport& report, std::ostream& out);
// Writes JUnit's XML: a test suite for each model, a test case for each rule.
void write_check_junit(const CheckReports& reports, std::ostream& out);
// Writes SARIF 2.1.0: one run, a result for each offence and source line.  Locations are the models' files,
// relative to the current folder, which GitHub expects to be the repository.
void write_check_sarif(const CheckReports& reports, std::ostream& out);
// Writes the input of read_baseline(), an offence a line: schemas/check_baseline.schema.json.
void write_check_baseline(const Baseline& baseline, std::ostream& out);

}  // namespace fxtrace::internal

namespace fxtrace::internal::check_words {

// The sentences of the answer of `fxtrace check`, for its text formats.  Each is one line of printable
// characters.

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
// Returns the names of the rules without offences.
std::vector<std::string> rules_that_hold(const CheckReport& report);
// Returns "2 known offences".
std::string known_offences(std::size_t count);
// Returns the rules with known offences, and their numbers: "deny aten.item.* (2)".
std::string known_rules(const CheckReport& report);
// Returns the rules of which the baseline has offences that the model no longer has, and their numbers.
std::string gone_rules(const CheckReport& report);

}  // namespace fxtrace::internal::check_words
