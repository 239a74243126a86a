// Writes the answer of `fxtrace check` as SARIF 2.1.0, a result for each offence and source line.
#pragma once

#include <ostream>

#include "rules/check.h"

namespace fxtrace {

void write_check_sarif(const CheckReport& report, std::ostream& out);

}  // namespace fxtrace
