// Writes a summary as a table for a terminal.
#pragma once

#include <ostream>

#include "summaries/model_summary.h"
#include "writers/text_layout.h"

namespace fxtrace {

// Writes the table of a summary with measurements, beside the costs to compare them with.
void write_measured_table(const ModelSummary& summary, std::ostream& out, const TextLayout& layout);

// A terminal with colour gets bars of each row's share of the MACs too.  Writes UTF-8; the same summary and
// layout give the same bytes.
void write_summary_text(const ModelSummary& summary, std::ostream& out, const TextLayout& layout);

}  // namespace fxtrace
