// Arithmetic operators: a row for each, with a function for every kind of number that it takes.  Python
// numbers, elements of tensors and symbolic sizes are all computed by these rows.
#pragma once

#include <complex>
#include <cstdint>

#include "symbolic/sym_int.h"

namespace fxtrace::internal {

using Complex = std::complex<double>;

// The functions of one operator, null for kinds of numbers that it does not take.  All throw SymbolicError
// when there is no result, or none that is the same on every machine.
template <template <class> class Function>
struct Arithmetic {
  Function<std::int64_t> integers = nullptr;  // 64 bits, wrapping around as in torch
  Function<SymInt> sizes = nullptr;           // exact, rounded as in Python; throws beyond 64 bits
  Function<float> floats = nullptr;           // each step is rounded to the precision of the type
  Function<double> reals = nullptr;
  Function<Complex> complexes = nullptr;
};
template <class T>
using OfTwo = T (*)(const T&, const T&);
template <class T>
using OfOne = T (*)(const T&);
using UnaryOperation = Arithmetic<OfOne>;
struct BinaryOperation : Arithmetic<OfTwo> {
  // A real number leaves the imaginary part of a complex one as it is, even -0.  Null: the real number is
  // converted to a complex one.
  Complex (*complex_and_real)(const Complex&, const double&) = nullptr;
  Complex (*real_and_complex)(const double&, const Complex&) = nullptr;
};

namespace arithmetic {

extern const BinaryOperation kSum, kDifference, kReversedDifference, kProduct;
extern const BinaryOperation kQuotient;                // of floats
extern const BinaryOperation kFloorQuotient;           // rounded down
extern const BinaryOperation kTruncatedQuotient;       // rounded to zero
extern const BinaryOperation kRemainder;               // with the sign of the divisor, as in Python
extern const BinaryOperation kTruncatedRemainder;      // with the sign of the dividend, as in C
extern const BinaryOperation kPower;                   // integers only; for floats see known_power()
extern const BinaryOperation kLeast, kLargest;         // NaN when an operand is NaN
extern const BinaryOperation kLeftShift, kRightShift;  // by 0 to 63 bits
extern const BinaryOperation kBitAnd, kBitOr, kBitXor;
extern const BinaryOperation kCopySign;

extern const UnaryOperation kNegative, kMagnitude, kSign, kSquare;
extern const UnaryOperation kFloor, kCeil, kTrunc, kRound;  // kRound rounds halves to the even number
extern const UnaryOperation kFraction, kReciprocal;
extern const UnaryOperation kRoot, kReciprocalRoot;  // only when the result is exact

// Returns the power for exponents that torch computes by multiplications and square roots alone.
template <class Real>
Real known_power(Real base, double exponent);

// Returns the quotient of complex numbers as torch computes it.
Complex complex_quotient(const Complex& dividend, const Complex& divisor);

}  // namespace arithmetic

// Returns the number modulo 2**64, in two's complement: INT64_MAX + 1 is INT64_MIN.
inline std::int64_t wrapped(std::uint64_t number) { return static_cast<std::int64_t>(number); }
inline std::uint64_t bits(std::int64_t number) { return static_cast<std::uint64_t>(number); }

}  // namespace fxtrace::internal
