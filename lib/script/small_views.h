// Views of small tensors, and copies of their elements in another order: a table for small_tensors.h.
#pragma once

#include "script/plain_call.h"

namespace fxtrace::script {

PlainTable view_operators();

}  // namespace fxtrace::script
