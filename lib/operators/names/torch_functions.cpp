#include "operators/names/torch_functions.h"

#include <array>

namespace fxtrace::internal {
namespace {

constexpr auto kFunctions = std::to_array<NamesOfSpace>({
#include "python/fxtrace/torch_functions.inc"
});

}  // namespace

std::span<const NamesOfSpace> torch_functions() { return kFunctions; }

bool is_torch_function(std::string_view qualified_name) {
  const std::size_t dot = qualified_name.rfind('.');
  return dot != std::string_view::npos &&
         has_name(kFunctions, qualified_name.substr(0, dot), qualified_name.substr(dot + 1));
}

}  // namespace fxtrace::internal
