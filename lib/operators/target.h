// Targets of call_function nodes, and a parser for them: "aten.add.Tensor", "operator.add",
// "higher_order.cond".
#pragma once

#include <cstdint>
#include <string_view>

namespace fxtrace::internal {

enum class TargetKind : std::uint8_t {
  kOperator,     // an operator of torch.ops: namespace, name and overload
  kHigherOrder,  // an operator of torch.ops.higher_order, which runs subgraphs
  kPython        // a function by its qualified name: "builtins.getattr", "torch.nn.functional.relu"
};

// The parts of a target, as views into its text.  A target of exactly three parts is an operator unless the
// first is torch, operator, builtins, math or higher_order.
struct TargetParts {
  TargetKind kind = TargetKind::kPython;
  std::string_view space;     // "aten", "operator", "torch.nn.functional"; empty when there is no dot
  std::string_view name;      // "add_", "cond", "relu"
  std::string_view overload;  // for operators: "Tensor", "default"
};
TargetParts parse_target(std::string_view text);

// Returns the parts of a function's qualified name, even if parse_target() would take it for an operator:
// "pkg.ops.nms" is nms of pkg.ops.
TargetParts function_parts(std::string_view qualified_name);
// Returns whether the text can never be the target of a function of the model's own code: it is a known
// operator, or begins like targets of Python or torch.ops.higher_order.
bool is_reserved_target(std::string_view text);

}  // namespace fxtrace::internal
