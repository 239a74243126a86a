// Writes the answer of `fxtrace check`.
#pragma once

#include <ostream>

#include "rules/check.h"
#include "writers/text_layout.h"

namespace fxtrace {

// For people.
void write_check_text(const CheckReport& report, std::ostream& out, const TextLayout& layout);
// schemas/check.schema.json describes it.
void write_check_json(const CheckReport& report, std::ostream& out);
// JUnit's XML: a test case for each rule.
void write_check_junit(const CheckReport& report, std::ostream& out);
// SARIF 2.1.0: a result for each offence and source line.
void write_check_sarif(const CheckReport& report, std::ostream& out);
// GitHub's Markdown.
void write_check_markdown(const CheckReport& report, std::ostream& out);

}  // namespace fxtrace
