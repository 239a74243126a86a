// Writes the order of use for people: modules in the order of their calls, parameters in that of their first
// uses, and what is tied, shared and unused.  Equal blocks that follow one another, such as h.0 and h.1, are
// written once.
#pragma once

#include <ostream>

#include "summaries/use_order.h"
#include "writers/text_layout.h"

namespace fxtrace {

void write_order_text(const UseOrder& order, std::ostream& out, const TextLayout& layout);

}  // namespace fxtrace
