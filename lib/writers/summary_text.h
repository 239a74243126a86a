// Writes a summary as a table for a terminal.
#pragma once

#include <cstddef>
#include <ostream>

#include "summaries/model_summary.h"

namespace fxtrace {

struct SummaryLayout {
  std::size_t width = 100;  // columns of the terminal; lines of notes and totals may be longer
  bool colour = false;      // also enables bars of each row's share of the MACs or of the time
};

// Writes the table of a summary with measurements, beside the costs to compare them with.
void write_measured_table(const ModelSummary& summary, std::ostream& out, const SummaryLayout& layout);

// Writes UTF-8; the same summary and layout give the same bytes.
void write_summary_text(const ModelSummary& summary, std::ostream& out, const SummaryLayout& layout);

}  // namespace fxtrace
