// A summary as a table of RFC 4180, one row a module, for spreadsheets and data frames.
//
// A text that a spreadsheet would take for a formula (it begins with = + - or @, also behind ; or |) gets an
// apostrophe in front.
#pragma once

#include <ostream>

#include "summaries/model_summary.h"

namespace fxtrace {

void write_summary_csv(const ModelSummary& summary, std::ostream& out);

}  // namespace fxtrace
