#include "exported/leaf_call.h"

namespace fxtrace {

std::optional<LeafCall> torch_nn_call(const LeafOperations&, std::string_view, const LeafNames&) {
  return std::nullopt;
}

}  // namespace fxtrace
