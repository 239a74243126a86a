// Prints values as LibTorch does: str(x), "{}".format(x), "%d" % x.
#pragma once

#include <ostream>
#include <string>

#include "torchscript/values/value.h"

namespace fxtrace::internal::torchscript {

// Throws Raised (plain_call.h) for values that LibTorch prints with an address, and for values that are too
// large or nested too deep.
void print(std::ostream& out, const Value& value);
std::string printed(const Value& value);

}  // namespace fxtrace::internal::torchscript
