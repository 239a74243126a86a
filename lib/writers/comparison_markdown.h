// A comparison as GitHub's Markdown, for a pull request.
#pragma once

#include <ostream>

#include "compare/comparison.h"

namespace fxtrace {

// Of a folded comparison; long ones are cut.  Writes UTF-8.
void write_comparison_markdown(const ModelComparison& comparison, std::ostream& out);

}  // namespace fxtrace
