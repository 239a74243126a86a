// Writes a summary as JSON (schemas/summary.schema.json): numbers are exact, expressions of dimensions are
// strings.
#pragma once

#include <ostream>

#include "summaries/model_summary.h"

namespace fxtrace {

void write_summary_json(const ModelSummary& summary, std::ostream& out);

}  // namespace fxtrace
