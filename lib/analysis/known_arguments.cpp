#include "analysis/known_arguments.h"

namespace fxtrace::internal {

AbstractValue known_value(const Meta& meta) {
  if (meta.shape) {
    auto sizes = meta.sizes();
    return sizes ? AbstractValue{TensorInfo{*std::move(sizes), meta.dtype}} : AbstractValue{};
  }
  const SymInt* number = meta.value ? meta.value->size() : nullptr;
  return number == nullptr ? AbstractValue{} : AbstractValue{*number};
}

}  // namespace fxtrace::internal
