// Elementwise operators on small tensors, those that IEEE 754 or two's complement decide: a table for
// small_tensors.h.
#pragma once

#include "script/plain_call.h"

namespace fxtrace::script {

PlainTable elementwise_operators();

}  // namespace fxtrace::script
