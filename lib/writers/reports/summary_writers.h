// Writes the answer of `fxtrace summary`.
#pragma once

#include <ostream>

#include "summaries/model_summary.h"
#include "writers/formats/text_layout.h"

namespace fxtrace::internal {

// Writes a table as text or Markdown; with colours, also bars of each row's share of the MACs.  Writes UTF-8;
// the same summary and layout give the same bytes.
void write_summary(const ModelSummary& summary, std::ostream& out, const TextLayout& layout);
// Writes the table of a summary with measurements, beside the costs for comparison.
void write_measured_table(const ModelSummary& summary, std::ostream& out, const TextLayout& layout);
// Writes JSON (schemas/summary.schema.json): numbers are exact, expressions of dimensions are strings.
void write_summary_json(const ModelSummary& summary, std::ostream& out);
// Writes CSV (RFC 4180), one row for each module, for spreadsheets and data frames.  A text that a
// spreadsheet would interpret as a formula (it begins with = + - or @, also after ; or |) is prefixed by an
// apostrophe.
void write_summary_csv(const ModelSummary& summary, std::ostream& out);

}  // namespace fxtrace::internal
