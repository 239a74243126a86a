// A comparison for people: five lines, and then what differs, module by module.
#pragma once

#include <ostream>

#include "compare/comparison.h"
#include "writers/text_layout.h"

namespace fxtrace {

// Of a folded comparison; long ones are cut.  Writes UTF-8; what was added is marked with +, what was removed
// with -, what moved with >, and what changed with ~.
void write_comparison_text(const ModelComparison& comparison, std::ostream& out, const TextLayout& layout);

}  // namespace fxtrace
