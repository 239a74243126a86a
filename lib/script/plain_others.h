// Operators of sizes, dtypes, devices and enums: a table of plain operators (plain_operators.h).
#pragma once

#include "script/plain_call.h"

namespace fxtrace::script {

PlainTable other_operators();

}  // namespace fxtrace::script
