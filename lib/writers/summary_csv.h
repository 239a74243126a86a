// Writes a summary as CSV (RFC 4180), one row for each module, for spreadsheets and data frames.
//
// A text that a spreadsheet would interpret as a formula (it begins with = + - or @, also after ; or |) is
// prefixed by an apostrophe.
#pragma once

#include <ostream>

#include "summaries/model_summary.h"

namespace fxtrace {

void write_summary_csv(const ModelSummary& summary, std::ostream& out);

}  // namespace fxtrace
