// Writes the answer of `fxtrace check`.
#pragma once

#include <ostream>

#include "rules/baseline.h"
#include "rules/check.h"
#include "writers/formats/text_layout.h"

namespace fxtrace {

// For people.  Models that could not be read are left out: the error says it.
void write_check_text(const CheckReports& reports, std::ostream& out, const TextLayout& layout);
// schemas/check.schema.json describes it; of one model it is the report itself.
void write_check_json(const CheckReports& reports, std::ostream& out);
// What read_check_report() reads: the JSON of one model, with the names that are unknown.
void write_check_report(const CheckReport& report, std::ostream& out);
// JUnit's XML: a test suite for each model, a test case for each rule.
void write_check_junit(const CheckReports& reports, std::ostream& out);
// SARIF 2.1.0: one run, a result for each offence and source line.  Locations are the models' files, as
// GitHub wants them: relative to the current folder, which is the repository's.
void write_check_sarif(const CheckReports& reports, std::ostream& out);
// GitHub's Markdown.
void write_check_markdown(const CheckReports& reports, std::ostream& out);
// What read_baseline() reads, an offence a line; schemas/check_baseline.schema.json describes it.
void write_check_baseline(const Baseline& baseline, std::ostream& out);

}  // namespace fxtrace
