// Sizes that follow from another size: (factor*size + offset) / divisor, which divides without a rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "symbolic/sym_int.h"

namespace fxtrace {

struct Affine {
  std::int64_t factor = 1, offset = 0, divisor = 1;  // divisor is positive

  // Returns the value for that of the other size; nothing when 64 bits are not enough.
  std::optional<std::int64_t> apply(std::int64_t other) const;
  // Returns the value before it is divided, and the value, for an expression of the other size.
  SymInt numerator(const SymInt& other) const { return other * factor + offset; }
  SymInt apply(const SymInt& other) const { return floordiv(numerator(other), divisor); }
};

// Returns how `size` follows from `other`, whatever the dimensions in them are: batch*8 and batch both follow
// from batch*4+2. Nothing when it does not.
std::optional<Affine> find_affine(const SymInt& size, const SymInt& other);

// How a size follows from known ones: from one of them as a whole, or else as an expression of dimensions
// that do.
struct SizeSource {
  struct Known {
    std::size_t place = 0;  // among the known sizes
    Affine affine;
  };
  SymInt size;
  std::optional<Known> whole;
  std::map<std::string, Known> dimensions;

  // Returns the value for those of the known sizes.
  std::optional<std::int64_t> value(const std::vector<std::int64_t>& known) const;
};
std::optional<SizeSource> find_source(const SymInt& size, const std::vector<SymInt>& known);

}  // namespace fxtrace
