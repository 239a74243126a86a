// Writes the answer of `fxtrace check` as JSON (schemas/check.schema.json).
#pragma once

#include <ostream>

#include "rules/check.h"

namespace fxtrace {

void write_check_json(const CheckReport& report, std::ostream& out);

}  // namespace fxtrace
