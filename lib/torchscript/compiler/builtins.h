// What LibTorch defines besides schemas: functions in TorchScript, methods of its classes, and upgraders of
// old operators.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fxtrace::internal::torchscript {

// Operators that LibTorch implements in TorchScript: operators with a number on the left of a tensor, `//` of
// tensors, and operators kept for old archives.  A call of one is inlined.

// Returns the code of the functions with this name, in the order in which they are tried after the registered
// overloads; empty for most names.
std::vector<std::string> builtin_functions(std::string_view name);

// Methods of C++ classes that LibTorch registers, as far as code of archives calls them.

struct BoundMethod {
  std::string_view class_names;  // without kTorchBindPrefix; with spaces between them
  std::string_view schema;       // without `self`: "bias() -> Tensor?"
};
std::span<const BoundMethod> bound_methods();

// Upgraders: old meanings of operators that have changed since an archive was written.

struct Upgrader {
  std::string_view name;         // "aten::div.Tensor"
  std::uint64_t changed_at = 0;  // first version of archives with today's meaning
  std::string_view schema;       // the old schema, without the name
  std::string_view code;         // a TorchScript function with the old meaning
};

// Returns null when the operator's meaning has not changed since that version of archives.
const Upgrader* find_upgrader(std::string_view name, std::uint64_t version);
inline constexpr std::uint64_t kCurrentOperatorVersion = 10;

}  // namespace fxtrace::internal::torchscript
