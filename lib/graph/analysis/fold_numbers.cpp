#include "graph/analysis/fold_numbers.h"

#include "operators/names/python_functions.h"

namespace fxtrace {

std::optional<Argument> fold(std::string_view target, const std::vector<Argument>& args) {
  std::vector<PythonNumber> numbers;
  for (const Argument& argument : args) {
    if (const auto* boolean = argument.get_if<bool>()) {
      numbers.emplace_back(*boolean);
    } else if (const auto* integer = argument.get_if<std::int64_t>()) {
      numbers.emplace_back(*integer);
    } else if (const auto* number = argument.get_if<double>()) {
      numbers.emplace_back(*number);
    } else {
      return std::nullopt;
    }
  }
  const auto result = evaluate_python(target, numbers);
  if (!result) return std::nullopt;
  return std::visit([](auto number) { return Argument(number); }, *result);
}

}  // namespace fxtrace
