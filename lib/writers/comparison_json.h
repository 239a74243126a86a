// A comparison as JSON (schemas/comparison.schema.json).
#pragma once

#include <ostream>

#include "compare/comparison.h"

namespace fxtrace {

// Of a comparison that is not folded.  Writes UTF-8; the same comparison gives the same bytes.
void write_comparison_json(const ModelComparison& comparison, std::ostream& out);

}  // namespace fxtrace
