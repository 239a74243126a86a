// Writes the answer of `fxtrace diff` as UTF-8; the same comparison gives the same bytes.
#pragma once

#include <ostream>

#include "compare/comparison.h"
#include "writers/formats/text_layout.h"

namespace fxtrace {

// For people, of a folded comparison: five lines, and then what differs, module by module; long ones are cut.
// What was added is marked with +, what was removed with -, what moved with >, and what changed with ~.
void write_comparison_text(const ModelComparison& comparison, std::ostream& out, const TextLayout& layout);
// Of a comparison that is not folded; schemas/comparison.schema.json describes it.
void write_comparison_json(const ModelComparison& comparison, std::ostream& out);
// GitHub's Markdown, for a pull request, of a folded comparison; long ones are cut.
void write_comparison_markdown(const ModelComparison& comparison, std::ostream& out);

}  // namespace fxtrace
