// Writes the answer of `fxtrace why` as JSON; schemas/why.schema.json describes it.
#pragma once

#include <ostream>

#include "summaries/explanation.h"

namespace fxtrace {

void write_explanation_json(const Explanation& explanation, std::ostream& out);

}  // namespace fxtrace
