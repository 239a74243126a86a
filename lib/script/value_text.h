// Values as LibTorch prints them: str(x), "{}".format(x), "%d" % x.
#pragma once

#include <ostream>
#include <string>

#include "script/value.h"

namespace fxtrace::script {

// Throws Raised (plain_call.h) for what LibTorch prints with an address, or is nested too deep or too large.
void print(std::ostream& out, const Value& value);
std::string printed(const Value& value);

}  // namespace fxtrace::script
