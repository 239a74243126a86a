// Sums, products, extremes and orders of small tensors: a table for small_tensors.h.
#pragma once

#include "script/plain_call.h"

namespace fxtrace::script {

PlainTable reduction_operators();

}  // namespace fxtrace::script
