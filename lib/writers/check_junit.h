// Writes the answer of `fxtrace check` as JUnit's XML, a test case for each rule.
#pragma once

#include <ostream>

#include "rules/check.h"

namespace fxtrace {

void write_check_junit(const CheckReport& report, std::ostream& out);

}  // namespace fxtrace
