// Writes the answer of `fxtrace check` for people.
#pragma once

#include <ostream>

#include "rules/check.h"
#include "writers/text_layout.h"

namespace fxtrace {

void write_check_text(const CheckReport& report, std::ostream& out, const TextLayout& layout);

}  // namespace fxtrace
