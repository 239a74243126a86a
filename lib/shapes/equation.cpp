#include "shapes/equation.h"

namespace fxtrace::internal {
namespace {

std::string subscripts(std::string_view text) {
  std::string letters;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    letters += text[i];
    if (text.substr(i).starts_with("...")) i += 2;
  }
  return letters;
}

}  // namespace

Equation parse_equation(std::string_view text) {
  Equation equation;
  if (const std::size_t arrow = text.find("->"); arrow != std::string_view::npos) {
    equation.result = subscripts(text.substr(arrow + 2));
    text = text.substr(0, arrow);
  }
  for (std::size_t comma = 0; comma != std::string_view::npos;) {
    comma = text.find(',');
    equation.operands.push_back(subscripts(text.substr(0, comma)));
    if (comma != std::string_view::npos) text.remove_prefix(comma + 1);
  }
  return equation;
}

}  // namespace fxtrace::internal
