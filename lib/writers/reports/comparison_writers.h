// Writes the answer of `fxtrace diff` as UTF-8; the same comparison gives the same bytes.
#pragma once

#include <ostream>

#include "compare/comparison.h"
#include "writers/formats/text_layout.h"

namespace fxtrace::internal {

// Writes a folded comparison as text or Markdown, for a pull request: a summary, then the differences by
// module; long lists are cut.  Marks of the text: + added, - removed, > moved, ~ changed.
void write_comparison(const ModelComparison& comparison, std::ostream& out, const TextLayout& layout);
// Writes a comparison that is not folded as JSON: schemas/comparison.schema.json.
void write_comparison_json(const ModelComparison& comparison, std::ostream& out);

}  // namespace fxtrace::internal
