// A summary as GitHub's Markdown.
#pragma once

#include <ostream>

#include "summaries/model_summary.h"

namespace fxtrace {

// No text of the file can be markup: names stand in code spans, or with every special character as an entity.
void write_summary_markdown(const ModelSummary& summary, std::ostream& out);

}  // namespace fxtrace
