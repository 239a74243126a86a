#include "torchscript/shapes/known.h"

#include <algorithm>

namespace fxtrace {

bool TensorInfo::is_static() const {
  return std::ranges::all_of(sizes, [](const SymInt& size) { return size.is_number(); });
}

bool Known::operator==(const Known& other) const { return value == other.value; }

}  // namespace fxtrace
