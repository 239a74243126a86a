// Functions of the modules math and cmath: a table of plain operators (plain_operators.h).
#pragma once

#include "script/plain_call.h"

namespace fxtrace::script {

PlainTable math_operators();

}  // namespace fxtrace::script
