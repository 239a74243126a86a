// The graph of an exported program, or the subgraph of one of its higher-order operators, as plain data:
// values, and operations that make them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "operators/target.h"

namespace fxtrace {

// A value of one ProgramGraph, by its place in ProgramGraph::values.
struct ValueId {
  std::uint32_t index = UINT32_MAX;
  auto operator<=>(const ValueId&) const = default;
  bool valid() const { return index != UINT32_MAX; }
};

// What operations take: values and plain Python values.
using Operand = BasicArgument<ValueId>;
using NamedOperands = std::vector<std::pair<std::string, Operand>>;

// An operand that refers to no value, as it stands in a graph.  Throws Error(kInternal) for others.
Argument constant_argument(const Operand& operand);

// One call of a module, by index into Hierarchy::calls(); the first is the root's. .
using CallId = std::uint32_t;
inline constexpr CallId kRootCall = 0;

struct ProgramValue {
  std::string name;
  Meta meta;
  std::optional<Argument> fixed;  // of an integer or boolean: the one value that the dimensions leave
};

// The sizes of a tensor of the model's own, which are numbers.  Throws Error(kInput) when one is an
// expression.
std::vector<std::int64_t> fixed_shape(const ProgramValue& value);

struct ProgramSubgraph;

struct Operation {
  std::string name;  // of the program's node; empty in files that do not tell
  Target target;     // as in a call_function: aten.add.Tensor, operator.getitem, higher_order.cond
  std::vector<Operand> args;
  NamedOperands kwargs;

  // A value that the operation makes, and the indices that lead to it in the result: none when it is the
  // result.
  struct Output {
    ValueId value;
    std::vector<std::int64_t> path;
  };
  std::vector<Output> outputs;

  CallId call = kRootCall;       // the innermost module call
  bool has_stack = false;        // false: the program says of no module that it runs the operation
  std::string_view stack_trace;  // text of Python's frames, outermost first; stands in the program's JSON
  std::vector<ProgramSubgraph> subgraphs;  // graphs among the arguments
  bool holds = false;                      // a check that the dimensions decide
  // Results that are an argument itself: of `to` the dtype that it has, of dropout that drops nothing.
  std::vector<std::pair<ValueId, ValueId>> given_back;
};

struct ProgramGraph {
  struct Input {
    ValueId value;
    std::optional<Argument> constant;  // of an input that the program fixed
  };
  std::vector<ProgramValue> values;
  std::vector<Input> inputs;
  std::vector<Operation> operations;  // each uses what stands before it
  // Objects that are used but that neither an input nor an operation makes: constants, with their names.
  std::vector<std::pair<std::string, ValueId>> objects;
  std::vector<Operand> outputs;
  bool single_output = false;  // the output is outputs[0] itself, not a tuple of it
};

struct ProgramSubgraph {
  std::string name;
  ProgramGraph graph;
};

// Of an input that the program calls `name`: "arg2" where it has no name.
inline std::string input_name(const std::string& name, std::size_t position) {
  return name.empty() ? "arg" + std::to_string(position) : name;
}

// What the program calls the node; older files have no names for those with several results.
std::string name_of_node(const ProgramGraph& graph, const Operation& operation);
// What forward returns, and what it is trained with.
bool is_user_output(SignatureRole role);

// By value: how often operations and the graph's outputs use it.
std::vector<std::uint32_t> count_uses(const ProgramGraph& graph);

// By value: of one that is an earlier value itself (see handed_on()) the first such, of any other itself.
std::vector<ValueId> origins(const ProgramGraph& graph);

// What operations that are to be one call take and give.
struct Boundary {
  std::vector<ValueId> entering;  // in the order of first use
  std::vector<ValueId> leaving;   // in the order in which they are made
  // Values that others use and that are an entering value itself, or one of the model's own, with that one.
  // torch.export makes whoever reads x later read what the call has handed on.
  std::vector<std::pair<ValueId, ValueId>> handed_on;
};
// `uses` as count_uses(), or fewer where a use does not count.  Values for which is_own() holds neither enter
// nor leave.  Where nothing else leaves operations that change nothing, what they hand on is their result.
Boundary boundary_of(const ProgramGraph& graph, const std::vector<std::uint32_t>& operations,
                     const std::vector<std::uint32_t>& uses, const std::function<bool(ValueId)>& is_own);

// What moving an operation past another may change.
enum class Effect {
  kSymbolic,  // sizes, indexing, checks of them: none
  kPure,      // reads tensors
  kRandom,    // draws random numbers: keeps its order among others that have effects
  kWrites,    // changes a tensor in place, or nobody knows
};
Effect effect_of(const Operation& operation);

// The condition that the operation checks: u0 <= s77.  Null for other operations.
const Expression* asserted_condition(const Operation& operation, const ProgramGraph& graph);

// Calls f(result, argument) for every result of the operation that is one of its arguments itself: what it
// changes in place (aten.add_.Tensor), gives back as it is, or hands through a region (no_grad, autocast).
void for_each_handed_on(const Operation& operation, const std::function<void(ValueId, ValueId)>& f);

// Results with the argument that each is, if the operation leaves that as it is, which depends on the
// tensors: of aten.to.dtype, aten.contiguous.default, aten.broadcast_tensors.default.
std::vector<std::pair<ValueId, ValueId>> may_give_back(const Operation& operation);

// A higher-order operator that runs its one subgraph once, as if the subgraph stood there: no_grad, autocast,
// checkpoint.
bool is_region(const Operation& operation);

// Calls f(input, operand) for the inputs of one of the operation's subgraphs that are the same in every run
// of it: the last inputs are the operator's last operands, except for those that a loop changes.
void for_each_lasting_operand(const Operation& operation, const ProgramGraph& subgraph,
                              const std::function<void(ValueId, const Operand&)>& f);

}  // namespace fxtrace
