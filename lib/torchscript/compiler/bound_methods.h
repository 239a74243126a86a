// Methods of C++ classes that LibTorch registers, as far as code of archives calls them.
#pragma once

#include <span>
#include <string_view>

namespace fxtrace::internal::torchscript {

struct BoundMethod {
  std::string_view class_names;  // without kTorchBindPrefix; with spaces between them
  std::string_view schema;       // without `self`: "bias() -> Tensor?"
};
std::span<const BoundMethod> bound_methods();

}  // namespace fxtrace::internal::torchscript
