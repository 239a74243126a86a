// A summary as JSON (schemas/summary.schema.json): all numbers exact, expressions of dimensions as text.
#pragma once

#include <ostream>

#include "summaries/model_summary.h"

namespace fxtrace {

void write_summary_json(const ModelSummary& summary, std::ostream& out);

}  // namespace fxtrace
