// Writes the answer of `fxtrace check`.
#pragma once

#include <ostream>

#include "rules/baseline.h"
#include "rules/check.h"
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
