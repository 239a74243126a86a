#include "convert/lower/written_program.h"

#include <algorithm>

#include "operators/operators.h"
#include "support/saturated.h"

namespace fxtrace::internal {

Error too_few(std::string_view name, std::size_t count, std::size_t index) {
  return input_error("the program has " + std::to_string(count) + " " + std::string(name) +
                     ", but asks for number " + std::to_string(index));
}

NodeId value_of(const Argument& operand) {
  const auto* id = operand.get_if<NodeId>();
  if (id == nullptr) throw input_error("the program has a plain value where a value of its graph is needed");
  return *id;
}

std::int64_t WrittenTensor::count() const {
  std::int64_t result = 1;
  for (const std::int64_t size : shape) multiply_saturated(result, size);
  return result;
}

std::int64_t WrittenTensor::span() const {
  std::int64_t result = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    std::int64_t reach = stride[i];
    multiply_saturated(reach, shape[i] - 1);
    add_saturated(result, reach);
  }
  return result;
}

std::optional<Schema> WrittenProgram::schema_of(const std::string& target, const Operator* op) const {
  if (const auto own = schemas.find(target); own != schemas.end()) return own->second;
  return op == nullptr ? std::nullopt : std::optional(op->schema());
}

}  // namespace fxtrace::internal
