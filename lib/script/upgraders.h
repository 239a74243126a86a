// What operators meant when an archive was written: those whose meaning has changed since.
#pragma once

#include <cstdint>
#include <string_view>

namespace fxtrace::script {

struct Upgrader {
  std::string_view name;         // "aten::div.Tensor"
  std::uint64_t changed_at = 0;  // the first version of archives with today's meaning
  std::string_view schema;       // of before, without the name
  std::string_view code;         // a function of TorchScript that does what it did
};

// Null where the operator means today what it meant in that version of archives.
const Upgrader* find_upgrader(std::string_view name, std::uint64_t version);
inline constexpr std::uint64_t kCurrentOperatorVersion = 10;

}  // namespace fxtrace::script
