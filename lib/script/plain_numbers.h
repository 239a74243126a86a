// Sums and products of numbers; of lists and strings plain_containers.cpp has them.
#pragma once

#include "script/value.h"

namespace fxtrace::script {

// Integers wrap around.  Throw Raised (plain_call.h) for what is no number.
Value sum_of(const Value& a, const Value& b);
Value product_of(const Value& a, const Value& b);

}  // namespace fxtrace::script
