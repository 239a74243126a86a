// Affine relations between sizes: (factor*size + offset) / divisor, where the division leaves no remainder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "symbolic/sym_int.h"

namespace fxtrace::internal {

struct Affine {
  std::int64_t factor = 1, offset = 0, divisor = 1;  // divisor is positive

  // Returns the value for a value of the other size; nothing when the division leaves a remainder, or 64
  // bits are not enough.
  std::optional<std::int64_t> apply(std::int64_t other) const;
  // Return the value before and after the division, for an expression of the other size.
  SymInt numerator(const SymInt& other) const { return other * factor + offset; }
  SymInt apply(const SymInt& other) const { return floordiv(numerator(other), divisor); }
};

// Returns the affine relation by which `size` follows from `other`, whatever dimensions are in them; nothing
// when there is none.  For example, batch*8 and batch both follow from batch*4+2.
std::optional<Affine> find_affine(const SymInt& size, const SymInt& other);

// A rule that computes a size from known ones: from one of them as a whole, or else as an expression of
// dimensions that each follow from one.
struct SizeSource {
  struct KnownSize {
    std::size_t place = 0;  // the index of the known size
    Affine affine;
  };
  SymInt size;
  std::optional<KnownSize> whole;
  std::map<std::string, KnownSize> dimensions;

  // Returns the size for the values of the known sizes.
  std::optional<std::int64_t> value(const std::vector<std::int64_t>& known) const;
};
std::optional<SizeSource> find_source(const SymInt& size, const std::vector<SymInt>& known);

}  // namespace fxtrace::internal
