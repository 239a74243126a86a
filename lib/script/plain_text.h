// Operators of strings, and what makes text of values: a table of plain operators (plain_operators.h).
#pragma once

#include "script/plain_call.h"

namespace fxtrace::script {

PlainTable text_operators();

}  // namespace fxtrace::script
