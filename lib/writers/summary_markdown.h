// Writes a summary as GitHub-flavoured Markdown.
#pragma once

#include <ostream>

#include "summaries/model_summary.h"

namespace fxtrace {

// Text of the file cannot become markup: names are written in code spans, or with special characters as
// entities.
void write_summary_markdown(const ModelSummary& summary, std::ostream& out);

}  // namespace fxtrace
