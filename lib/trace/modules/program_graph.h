// Program graph: the graph of an exported program, or a subgraph of one of its higher-order operators, as
// plain data in SSA form: values, and the operations that make them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "operators/target.h"
#include "support/text/owned_text.h"

namespace fxtrace {

// Converts an operand that refers to no value to an Argument.  Throws Error(kInternal) for others.
Argument constant_argument(const Argument& operand);

// One call of a module, by index into Hierarchy::calls(); the first is the root's.
using CallId = std::uint32_t;
inline constexpr CallId kRootCall = 0;

struct ProgramValue {
  std::string name;
  Meta meta;
  std::optional<Argument> fixed;  // the only possible value of an integer or boolean, given the dimensions
  std::vector<Meta::Dim> strides = {};  // strides of a tensor, for writers only; readers leave them out
};

// Returns the sizes of a parameter, buffer or constant.  Throws Error(kInput) when one is not a number.
std::vector<std::int64_t> fixed_shape(const ProgramValue& value);

struct ProgramSubgraph;

struct Operation {
  std::string name;  // name of the program's node; empty when the file has none
  Target target;     // as in a call_function: aten.add.Tensor, operator.getitem, higher_order.cond
  std::vector<Argument> args;
  Kwargs kwargs;

  // A value that the operation makes, and the indices that lead to it in the result; empty for the result
  // itself.
  struct Output {
    NodeId value;
    std::vector<std::int64_t> path;
  };
  std::vector<Output> outputs;
  bool result_is_list = false;  // the outputs are items of one list; for writers only

  CallId call = kRootCall;                 // the innermost module call
  bool has_stack = false;                  // false when the program names no module that runs the operation
  OwnedText stack_trace;                   // Python's frames, outermost first; of the program's JSON
  std::vector<ProgramSubgraph> subgraphs;  // graphs among the arguments
  bool has_effect = false;                 // the program orders its effect by a token
  bool holds = false;                      // an assert that always holds, given the dimensions
  // Pairs of a result and the argument that it is itself, as for `to` the dtype of the tensor, or dropout
  // with nothing to drop.
  std::vector<std::pair<NodeId, NodeId>> given_back;
};

struct ProgramGraph {
  struct Input {
    NodeId value;
    std::optional<Argument> constant;  // value of an input that the program fixed
  };
  std::vector<ProgramValue> values;
  std::vector<Input> inputs;
  std::vector<Operation> operations;  // in topological order
  // Constant objects with their names: values that neither an input nor an operation makes.
  std::vector<std::pair<std::string, NodeId>> objects;
  std::vector<Argument> outputs;
  bool single_output = false;  // the output is outputs[0] itself, not a tuple of it
};

inline constexpr int kMaxSubgraphs = 100;  // graphs within graphs

struct ProgramSubgraph {
  std::string name;
  ProgramGraph graph;
};

// Returns the name of an input: `name`, or "arg2" when it is empty.
inline std::string input_name(const std::string& name, std::size_t position) {
  return name.empty() ? "arg" + std::to_string(position) : name;
}

// Returns the program's name of the node.  Older files have none for nodes with several results.
std::string name_of_node(const ProgramGraph& graph, const Operation& operation);
// Returns whether the role is that of an output of the model's own forward, the loss included.
bool is_user_output(SignatureRole role);
// Returns whether the program returns this output to its caller: outputs of forward, and the gradients of a
// joint graph.
bool is_result(SignatureRole role);

// Returns, by value, the number of its uses by operations and the graph's outputs.
std::vector<std::uint32_t> count_uses(const ProgramGraph& graph);

// Returns the origin of each value: the first earlier value that it is the same as (see
// for_each_handed_on()), else the value itself.
std::vector<NodeId> origins(const ProgramGraph& graph);

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
Boundary boundary_of(const ProgramGraph& graph, const std::vector<std::uint32_t>& operations,
                     const std::vector<std::uint32_t>& uses, const std::function<bool(NodeId)>& is_own);

// The effect of an operation, which restricts moving it past others.
enum class Effect {
  kSymbolic,  // computes or checks sizes or indices: no effect
  kPure,      // reads tensors
  kRandom,    // draws random numbers: stays in order with other effects
  kWrites,    // writes to a tensor in place, or is unknown
};
Effect effect_of(const Operation& operation);

// Returns the condition that the operation asserts: u0 <= s77.  Null for other operations.
const Expression* asserted_condition(const Operation& operation, const ProgramGraph& graph);

// Calls f(result, argument) for every result that is one of the arguments itself: one that the operation
// writes in place (aten.add_.Tensor), returns unchanged, or passes through a region (no_grad, autocast).
void for_each_handed_on(const Operation& operation, const std::function<void(NodeId, NodeId)>& f);

// Returns results that may be an argument itself, depending on the tensors, with that argument: for
// aten.to.dtype, aten.contiguous.default, aten.broadcast_tensors.default.
std::vector<std::pair<NodeId, NodeId>> may_give_back(const Operation& operation);

// Returns whether the operation is a higher-order operator that runs its only subgraph once, as if inlined:
// no_grad, autocast, checkpoint.
bool is_region(const Operation& operation);

// Calls f(input, operand) for the inputs of a subgraph that have the same value in every run: the last inputs
// correspond to the operator's last operands, except for those that a loop carries.
void for_each_lasting_operand(const Operation& operation, const ProgramGraph& subgraph,
                              const std::function<void(NodeId, const Argument&)>& f);

}  // namespace fxtrace
