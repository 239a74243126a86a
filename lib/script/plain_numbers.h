// What other tables of plain operators need of arithmetic.
#pragma once

#include <complex>

#include "script/plain_call.h"

namespace fxtrace::script {

// Integers wrap around.  Throw Raised (plain_call.h) for what is no number.
Value sum_of(const Value& a, const Value& b);
Value product_of(const Value& a, const Value& b);
// LibTorch's: scaled by the larger part of the divisor.
std::complex<double> complex_quotient(std::complex<double> x, std::complex<double> y);

}  // namespace fxtrace::script
