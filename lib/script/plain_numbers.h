// Arithmetic, comparisons and conversions of numbers: a table of plain operators (plain_operators.h), and
// what other tables need of it.
#pragma once

#include <complex>

#include "script/plain_call.h"

namespace fxtrace::script {

PlainTable number_operators();

// Integers wrap around.  Throw Raised (plain_call.h) for what is no number.
Value sum_of(const Value& a, const Value& b);
Value product_of(const Value& a, const Value& b);
// LibTorch's: scaled by the larger part of the divisor.
std::complex<double> complex_quotient(std::complex<double> x, std::complex<double> y);

}  // namespace fxtrace::script
