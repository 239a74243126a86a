// Upgraders: old meanings of operators that have changed since an archive was written.
#pragma once

#include <cstdint>
#include <string_view>

namespace fxtrace::internal::torchscript {

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
