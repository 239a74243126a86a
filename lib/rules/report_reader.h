// Report reader: reads the output of `fxtrace check --json` for one model.
#pragma once

#include <string>

#include "rules/check.h"

namespace fxtrace::internal {

// Reads a report.  `name` names the text in errors.  Its rules have the parts that are shown to users, and
// not the parts that are checked.  Throws Error(kInput).
CheckReport read_check_report(const std::string& text, const std::string& name);

}  // namespace fxtrace::internal
