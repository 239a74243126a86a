// Runs a traced graph node by node.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "verify/calls/engine.h"

namespace fxtrace::verify {

struct ModuleCall {
  const Node& node;
  const ModuleGraph& graph;
  RunArguments arguments;
  std::vector<RunValue> inputs;  // the node's input values, in the order of for_each_input()
};

// Provides the graph's modules, parameters and functions.
class ModelParts {
 public:
  virtual ~ModelParts() = default;
  // Returns the value of a get_attr node; `graph` has the constants.
  virtual RunValue attribute(const std::string& target, const ModuleGraph& graph) = 0;
  // Carries out an assignment of the graph.
  virtual void assign(const std::string& target, const RunValue& value) = 0;
  virtual RunValue call_module(const ModuleCall& call) = 0;
  // Calls a function of the model's own code.  Nothing when the model has none of that name.
  virtual std::optional<RunValue> call_model_function(const std::string& target,
                                                      const RunArguments& arguments) = 0;
};

// A RunError at a node.
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

// Called for each value that is made, placeholders included.  `graph` is a subgraph when control flow runs
// one.
using Watcher = std::function<void(const ModuleGraph& graph, const Node& node, const RunValue& value)>;

// Returns the graph's output for `inputs`, the values of its placeholders in order.  Values are released
// after their last use.  Throws NodeError.
RunValue run_graph(const Engine& engine, const ModuleGraph& graph, const std::vector<RunValue>& inputs,
                   ModelParts& parts, const Watcher& watcher);

}  // namespace fxtrace::verify
