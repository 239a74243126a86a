#include "shapes/contiguous.h"

#include <algorithm>
#include <cstddef>

#include "support/saturated.h"

namespace fxtrace::internal {

std::vector<std::int64_t> contiguous_strides(const std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> strides(sizes.size());
  std::int64_t row = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = row;
    multiply_saturated(row, std::max<std::int64_t>(sizes[i], 1));
  }
  return strides;
}

std::vector<SymInt> contiguous_strides(const std::vector<SymInt>& sizes) {
  std::vector<SymInt> strides(sizes.size());
  SymInt row = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = row;
    row = row * max(SymInt(1), sizes[i]);
  }
  return strides;
}

bool is_contiguous(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& strides) {
  if (sizes.size() != strides.size()) return false;
  if (std::ranges::find(sizes, 0) != sizes.end()) return true;
  const std::vector<std::int64_t> wanted = contiguous_strides(sizes);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != 1 && strides[i] != wanted[i]) return false;
  }
  return true;
}

}  // namespace fxtrace::internal
