// Writes the answer of `fxtrace why` as text for people.
#pragma once

#include <ostream>

#include "summaries/explanation.h"
#include "writers/text_layout.h"

namespace fxtrace {

void write_explanation_text(const Explanation& explanation, std::ostream& out, const TextLayout& layout = {});

}  // namespace fxtrace
