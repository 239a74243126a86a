#include "exported/leaf_flow.h"

namespace fxtrace {

Values used_by(const Operation& operation) {
  Values used;
  for_each_input(operation, [&](ValueId value) { used.push_back(value); });
  return used;
}

std::optional<ValueId> given(const Flow& flow, const Operand& argument) {
  const auto* value = argument.get_if<ValueId>();
  if (value == nullptr) return std::nullopt;
  const ValueId source = flow.source(*value);
  return flow.enters(source) ? std::optional(source) : std::nullopt;
}

}  // namespace fxtrace
