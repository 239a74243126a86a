// Arithmetic that other tables of plain operators share.
#pragma once

#include <complex>

#include "script/plain_call.h"

namespace fxtrace::script {

// Returns a + b; integers wrap around.  Throws Raised (plain_call.h) when an operand is not a number.
Value sum_of(const Value& a, const Value& b);
Value product_of(const Value& a, const Value& b);
// Divides as LibTorch does: scaled by the larger part of the divisor.
std::complex<double> complex_quotient(std::complex<double> x, std::complex<double> y);

}  // namespace fxtrace::script
