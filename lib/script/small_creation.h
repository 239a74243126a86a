// Small tensors of numbers alone, and numbers of small tensors: a table for small_tensors.h.
#pragma once

#include "script/plain_call.h"

namespace fxtrace::script {

PlainTable creation_operators();

}  // namespace fxtrace::script
