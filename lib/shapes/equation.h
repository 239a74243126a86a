// Parses the equation of einsum(): "bij,bjk->bik".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fxtrace::internal {

// The subscripts of the operands, and of the result when there is an arrow.  "..." is stored as '.'.
struct Equation {
  std::vector<std::string> operands;
  std::optional<std::string> result;
};
Equation parse_equation(std::string_view text);

}  // namespace fxtrace::internal
