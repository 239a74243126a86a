// Operators of lists, dicts and tuples: a table of plain operators (plain_operators.h).
#pragma once

#include "script/plain_call.h"

namespace fxtrace::script {

PlainTable container_operators();

}  // namespace fxtrace::script
