// Writes the answer of `fxtrace diff` as UTF-8; the same comparison gives the same bytes.
#pragma once

#include <ostream>

#include "compare/comparison.h"
#include "writers/formats/text_layout.h"

namespace fxtrace {

// Writes a folded comparison as text: a summary, then the differences by module; long lists are cut.  Marks:
// + added, - removed, > moved, ~ changed.
void write_comparison_text(const ModelComparison& comparison, std::ostream& out, const TextLayout& layout);
// Writes a comparison that is not folded as JSON: schemas/comparison.schema.json.
void write_comparison_json(const ModelComparison& comparison, std::ostream& out);
// Writes a folded comparison as GitHub's Markdown, for a pull request; long lists are cut.
void write_comparison_markdown(const ModelComparison& comparison, std::ostream& out);

}  // namespace fxtrace
