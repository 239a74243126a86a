// Targets of call_function nodes, and what is known of them by their names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fxtrace::internal {

// Targets of call_function nodes, and a parser for them: "aten.add.Tensor", "operator.add",
// "higher_order.cond".

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

  std::string base_name() const;  // as schemas and options have it: "aten::add_"
};
TargetParts parse_target(std::string_view text);

// Returns the parts of a function's qualified name, even if parse_target() would take it for an operator:
// "pkg.ops.nms" is nms of pkg.ops.
TargetParts function_parts(std::string_view qualified_name);
// Returns whether the text can never be the target of a function of the model's own code: it is a known
// operator, or begins like targets of Python or torch.ops.higher_order.
bool is_reserved_target(std::string_view text);

// Higher-order operators, which run subgraphs: torch.ops.higher_order.

enum class SubgraphRuns : std::uint8_t {
  kUnknown,
  kOnce,      // once, as if inlined: no_grad, autocast, checkpoint
  kOneOf,     // one of several subgraphs: cond
  kRepeated,  // while_loop, scan, map: any number of times, with the operands of the last list the same in
              // each
};

// Returns how the target runs its subgraphs; kUnknown also for targets that are not higher-order operators.
SubgraphRuns subgraph_runs(const TargetParts& target);

// Returns whether the target runs its one subgraph in place, only in another mode or with checkpoints: it
// computes what the subgraph's nodes would compute in the outer graph.
bool is_region(const TargetParts& target);

// Operators and Python functions whose result follows from known facts about their arguments, without
// computing a tensor.

enum class KnownNumber : std::uint8_t {
  kNone,
  kRank,    // the rank of the tensor
  kLength,  // the size of its first dimension
  kSize,    // the size of the dimension given by the second argument
  kCount,   // the number of its elements
  kItem,    // the item of the list or tuple at the second argument
  kInt,     // the argument, also a tensor made by kOfNumber, converted to int; likewise kFloat and kBool
  kFloat,
  kBool,
  kOfNumber,  // a tensor made from the number
};

// Returns the kind for a node's target.
KnownNumber known_number_of(std::string_view target);

}  // namespace fxtrace::internal
