// Writes the answer of `fxtrace why`.
#pragma once

#include <ostream>

#include "summaries/explanation.h"
#include "writers/formats/text_layout.h"

namespace fxtrace::internal {

// Writes text.
void write_explanation_text(const Explanation& explanation, std::ostream& out, const TextLayout& layout = {});
// Writes JSON: schemas/why.schema.json.
void write_explanation_json(const Explanation& explanation, std::ostream& out);

}  // namespace fxtrace::internal
