// Reads what `fxtrace check --json` writes of one model.
#pragma once

#include <string>

#include "rules/check.h"

namespace fxtrace {

// `name` is that of the text in errors.  The rules have what people are told of them, not what they ask for.
// Throws Error(kInput).
CheckReport read_check_report(const std::string& text, const std::string& name);

}  // namespace fxtrace
