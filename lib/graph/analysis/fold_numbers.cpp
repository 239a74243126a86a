#include "graph/analysis/fold_numbers.h"

namespace fxtrace::internal {

std::optional<PythonNumber> number_of(const Argument& argument) {
  if (const auto* boolean = argument.get_if<bool>()) return *boolean;
  if (const auto* integer = argument.get_if<std::int64_t>()) return *integer;
  if (const auto* number = argument.get_if<double>()) return *number;
  return std::nullopt;
}

std::optional<Argument> fold(std::string_view target, const std::vector<Argument>& args) {
  std::vector<PythonNumber> numbers;
  for (const Argument& argument : args) {
    const auto number = number_of(argument);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  const auto result = evaluate_python(target, numbers);
  if (!result) return std::nullopt;
  return std::visit([](auto number) { return Argument(number); }, *result);
}

}  // namespace fxtrace::internal
