// Writes the answer of `fxtrace check` as GitHub's Markdown.
#pragma once

#include <ostream>

#include "rules/check.h"

namespace fxtrace {

void write_check_markdown(const CheckReport& report, std::ostream& out);

}  // namespace fxtrace
