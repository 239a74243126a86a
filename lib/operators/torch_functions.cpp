#include "operators/torch_functions.h"

#include <algorithm>
#include <array>
#include <string>

namespace fxtrace {
namespace {

struct Space {
  std::string_view name;
  std::string_view functions;  // each between spaces
};
constexpr auto kSpaces = std::to_array<Space>({
#include "operators/torch_functions.inc"
});

}  // namespace

bool is_torch_function(std::string_view qualified_name) {
  const std::size_t dot = qualified_name.rfind('.');
  if (dot == std::string_view::npos || qualified_name.find(' ') != std::string_view::npos) return false;
  const auto space = std::ranges::find(kSpaces, qualified_name.substr(0, dot), &Space::name);
  if (space == kSpaces.end()) return false;
  return space->functions.find(" " + std::string(qualified_name.substr(dot + 1)) + " ") !=
         std::string_view::npos;
}

}  // namespace fxtrace
