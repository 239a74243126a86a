// The operations of an exported program (graph/program_view.h): what they do to values, and the values that
// enter and leave a number of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/program_view.h"

namespace fxtrace::internal {

// Converts an operand that refers to no value to an Argument.  Throws Error(kInternal) for others.
Argument constant_argument(const Argument& operand);

// Returns the sizes of a parameter, buffer or constant.  Throws Error(kInput) when one is not a number.
std::vector<std::int64_t> fixed_shape(const ProgramView& graph, NodeId value);

// Returns the name of an input: `name`, or "arg2" when it is empty.
inline std::string input_name(const std::string& name, std::size_t position) {
  return name.empty() ? "arg" + std::to_string(position) : name;
}

// Returns the name of an ATen operator, "add_"; empty for other nodes.
std::string_view aten_name(const Node& node);

// Returns the program's name of the node.  Older files have none for nodes with several results.
std::string name_of_node(const ProgramView& graph, NodeId operation);

// Returns whether the role is that of an output of the model's own forward, the loss included.
bool is_user_output(SignatureRole role);
// Returns whether the program returns this output to its caller: outputs of forward, and the gradients of a
// joint graph.
bool is_result(SignatureRole role);

// Returns, by value, the number of its uses by operations and the graph's outputs.
std::vector<std::uint32_t> count_uses(const ProgramView& graph);

// Returns the origin of each value: the first earlier value that it is the same as (see
// for_each_handed_on()), else the value itself.
std::vector<NodeId> origins(const ProgramView& graph);

// The inputs and outputs of operations that are to become one call.
struct Boundary {
  std::vector<NodeId> entering;  // in the order of first use
  std::vector<NodeId> leaving;   // in order of definition
  // Pairs of a value used outside and the value that it is: an entering one, or a tensor of the model.  Such
  // values arise because torch.export lets later readers of x read the result of the call that returned x.
  std::vector<std::pair<NodeId, NodeId>> handed_on;
};
// Returns the boundary of `operations`.  `uses` is count_uses(graph), less the uses that do not count.
// Values for which is_own() holds neither enter nor leave.  When nothing else leaves and the operations write
// nothing, the handed-on values are their result.
Boundary boundary_of(const ProgramView& graph, const std::vector<NodeId>& operations,
                     const std::vector<std::uint32_t>& uses, const std::function<bool(NodeId)>& is_own);

// The effect of an operation, which restricts moving it past others.
enum class Effect {
  kSymbolic,  // computes or checks sizes or indices: no effect
  kPure,      // reads tensors
  kRandom,    // draws random numbers: stays in order with other effects
  kWrites,    // writes to a tensor in place, or is unknown
};
Effect effect_of(const ProgramView& graph, NodeId operation);

// Returns the condition that the operation asserts: u0 <= s77.  Null for other operations.
const Expression* asserted_condition(const ProgramView& graph, NodeId operation);

// Calls f(result, argument) for every result that is one of the arguments itself: one that the operation
// writes in place (aten.add_.Tensor), returns unchanged, or passes through a region (no_grad, autocast).
void for_each_handed_on(const ProgramView& graph, NodeId operation,
                        const std::function<void(NodeId, NodeId)>& f);

// Returns results that may be an argument itself, depending on the tensors, with that argument: for
// aten.to.dtype, aten.contiguous.default, aten.broadcast_tensors.default.
std::vector<std::pair<NodeId, NodeId>> may_give_back(const ProgramView& graph, NodeId operation);

// Returns whether the operation is a higher-order operator that runs its only subgraph once, as if inlined:
// no_grad, autocast, checkpoint.
bool is_region(const ProgramView& graph, NodeId operation);

// Calls f(input, operand) for the inputs of a subgraph that have the same value in every run: the last inputs
// correspond to the operator's last operands, except for those that a loop carries.
void for_each_lasting_operand(const Node& operation, const ProgramView& subgraph,
                              const std::function<void(NodeId, const Argument&)>& f);

}  // namespace fxtrace::internal
