// Runs a traced graph node by node in LibTorch.
//
// Operators and Python functions of nodes run through run_function(); the graph's attributes, leaf modules
// and functions of the model's own code come from ModelParts, which the loaded model implements.  A Watcher
// sees every value, which is how verification checks metadata and finds the first node that differs.
//
// Invariants:
// 1. Nodes run in the order of the graph, each once.  Placeholders take the inputs in order.
// 2. A value is kept until its last user has run; a node that uses it several times is one user.  A value
//    that an assignment needs is kept to the end.  A value without users is not kept, but the watcher sees
//    it.
// 3. Assignments to attributes are carried out when all nodes have run, so get_attr nodes read the state
//    before the run.  In-place operators on the value of a get_attr node write at once.
// 4. The body of control flow is a run of its own, with its own values: it sees only its inputs.  It shares
//    the model's parts and the watcher.
// 5. A RunError of a node becomes a NodeError with the innermost graph and node.  CannotRun passes unchanged.
// 6. Modes that the graph enters (vmap, autocast) are left when run_graph() returns or throws.
//
// Example:
//
//     %x = placeholder[x]                  the first input; 2 users
//     %w = get_attr[w]                     parts.attribute("w"); 1 user
//     %h = aten.matmul.default(%x, %w)     run_function(); %w is released
//     %y = aten.add.Tensor(%h, %x)         %h and %x are released
//     output(%y)                           the result
//
// If matmul fails, NodeError names it and says what LibTorch said.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "graph/graph.h"
#include "operators/target.h"
#include "verify/calls/engine.h"

namespace fxtrace::internal::verify {

struct ModuleCall {
  const Node& node;
  const ModuleGraph& graph;
  RunArguments arguments;
  std::vector<RunValue> inputs;  // values of the node's inputs, in the order of for_each_input()
};

// The modules, parameters and functions that a graph refers to.
class ModelParts {
 public:
  virtual ~ModelParts() = default;
  // Returns the value of a get_attr node; `graph` has the constants.
  virtual RunValue attribute(const std::string& target, const ModuleGraph& graph) = 0;
  // Carries out an assignment of the graph.
  virtual void assign(const std::string& target, const RunValue& value) = 0;
  virtual RunValue call_module(const ModuleCall& call) = 0;
  // Calls a function of the model's own code.  Returns nothing if the model has no function of that name.
  virtual std::optional<RunValue> call_model_function(const std::string& target,
                                                      const RunArguments& arguments) = 0;
};

// A RunError, with the node that failed.
struct NodeError : RunError {
  NodeError(const ModuleGraph& in, const Node& at, const std::string& what)
      : RunError(what), graph(&in), node(at.id) {}
  const ModuleGraph* graph;
  NodeId node;
};

template <class F>
void for_each_placeholder(const Graph& graph, F&& f) {
  for (NodeId id = graph.first(); id.valid(); id = graph.next(id)) {
    if (graph.node(id).op == Opcode::kPlaceholder) f(graph.node(id));
  }
}

// Pairs the values with the names of the placeholders, in order.
std::vector<std::pair<std::string, RunValue>> named_inputs(const Graph& graph,
                                                           const std::vector<RunValue>& inputs);

// A function that is called for each value, placeholders included.  `graph` is a subgraph if control flow
// runs one.
using Watcher = std::function<void(const ModuleGraph& graph, const Node& node, const RunValue& value)>;

// Returns the graph's output for `inputs`, the values of its placeholders in order.  Values are released
// after their last use.  Throws NodeError.
RunValue run_graph(const Engine& engine, const ModuleGraph& graph, const std::vector<RunValue>& inputs,
                   ModelParts& parts, const Watcher& watcher);

// Runs these nodes, which are in the order of the graph, and adds their values to `values`, by node.
// outside(node) returns a value that is neither there nor made by them.  Throws NodeError.
using Values = std::unordered_map<std::uint32_t, RunValue>;
void run_nodes(const Engine& engine, const ModuleGraph& graph, const std::vector<NodeId>& nodes,
               ModelParts& parts, const std::function<RunValue(NodeId)>& outside, Values& values);

// Runs the targets of call_function nodes.

// A subgraph among the arguments, which is called with the values of its inputs.
using Body = std::function<RunValue(const std::vector<RunValue>&)>;
using CallOperand = std::variant<RunValue, Body>;

struct FunctionCall {
  std::string target;  // "aten.add.Tensor", "operator.getitem", "higher_order.cond"
  std::vector<CallOperand> args;
  std::vector<std::pair<std::string, RunValue>> kwargs;
  std::optional<std::vector<RunValue>>
      slice;  // for operator.getitem: the parts of a slice, its second argument
};

// Returns whether torch implements the target in Python only: functions of vmap and autocast, which change
// how operators run, and tolist.
bool is_torch_function(const std::string& target);

// Unregisters all operators of LibTorch but those that only compute (operators/names/allow_lists.h),
// and those that libraries have registered.  This also restricts the code of archives, so it has to be called
// before one is loaded.
void keep_callable_operators(const Engine& engine);

// Runs the call.  Throws RunError if LibTorch fails, and CannotRun for a function that LibTorch does not have
// or that does more than compute.
RunValue run_function(const Engine& engine, const FunctionCall& call);

}  // namespace fxtrace::internal::verify
