// What arithmetic operators mean: one row for each, with the function for every kind of number that it takes.
// Python numbers, elements of tensors and sizes are computed with these alone.
#pragma once

#include <complex>
#include <cstdint>

#include "symbolic/sym_int.h"

namespace fxtrace {

using Complex = std::complex<double>;

// A function for each kind of number; null where the operator does not take it.  All throw SymbolicError
// where there is no result, or none that is the same on every machine.
template <template <class> class Function>
struct Arithmetic {
  Function<std::int64_t> integers = nullptr;  // of 64 bits, which wrap around, as those of torch
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
  // A real number leaves the imaginary part of a complex one alone, be it -0; null: it becomes a complex one.
  Complex (*complex_and_real)(const Complex&, const double&) = nullptr;
  Complex (*real_and_complex)(const double&, const Complex&) = nullptr;
};

namespace arithmetic {

extern const BinaryOperation kSum, kDifference, kReversedDifference, kProduct;
extern const BinaryOperation kQuotient;                // of floats
extern const BinaryOperation kFloorQuotient;           // rounded down
extern const BinaryOperation kTruncatedQuotient;       // rounded to zero
extern const BinaryOperation kRemainder;               // with the sign of the divisor, as in Python
extern const BinaryOperation kTruncatedRemainder;      // with that of the dividend, as in C
extern const BinaryOperation kPower;                   // of integers; for floats see known_power()
extern const BinaryOperation kLeast, kLargest;         // NaN where one is
extern const BinaryOperation kLeftShift, kRightShift;  // by 0 to 63 bits
extern const BinaryOperation kBitAnd, kBitOr, kBitXor;
extern const BinaryOperation kCopySign;

extern const UnaryOperation kNegative, kMagnitude, kSign, kSquare;
extern const UnaryOperation kFloor, kCeil, kTrunc, kRound;  // the middle goes to the even number
extern const UnaryOperation kFraction, kReciprocal;
extern const UnaryOperation kRoot, kReciprocalRoot;  // where they are exact

// Returns the power, for the exponents by which torch multiplies and takes roots alone.
template <class Real>
Real known_power(Real base, double exponent);

// Returns the quotient of complex numbers as torch computes it.
Complex complex_quotient(const Complex& dividend, const Complex& divisor);

}  // namespace arithmetic

// Wraps around in two's complement: INT64_MAX + 1 is INT64_MIN.
inline std::int64_t wrapped(std::uint64_t number) { return static_cast<std::int64_t>(number); }
inline std::uint64_t bits(std::int64_t number) { return static_cast<std::uint64_t>(number); }

}  // namespace fxtrace
