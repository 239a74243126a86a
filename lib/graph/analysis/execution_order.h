// The order in which a graph calls modules and methods and uses parameters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"
#include "graph/graph_collection.h"

namespace fxtrace::internal {

// The calls of modules and methods in a graph, in the order of execution.

struct OrderedCall {
  std::string_view module;
  std::string_view method;    // like Scope::method
  std::int64_t number = 0;    // like Scope::call
  std::int64_t position = 0;  // in module_forward_order, from 1; 0 for another method
  std::string_view caller;    // the module whose code calls it; empty when unknown
};

// The calls of Execution::module_forward_order, with the calls of other methods inserted where they begin.
class CallOrder {
 public:
  // The texts refer to `execution`, which must outlive this and not change.
  explicit CallOrder(const Execution& execution);
  explicit CallOrder(Execution&& execution) = delete;

  std::size_t size() const { return calls_.size(); }
  const OrderedCall& operator[](std::size_t call) const { return calls_[call]; }
  auto begin() const { return calls_.begin(); }
  auto end() const { return calls_.end(); }

  // Returns the calls of a module's forward, as indices; null when there are none.
  const std::vector<std::size_t>* find_calls(std::string_view module) const;
  std::optional<std::size_t> find_calls(const Scope& scope) const;

 private:
  void add(std::string_view module, std::string_view method, std::int64_t position, std::string_view caller);

  std::vector<OrderedCall> calls_;
  std::unordered_map<std::string_view, std::vector<std::size_t>> forward_;
  std::unordered_map<std::string_view, std::unordered_map<std::string_view, std::vector<std::size_t>>>
      others_;
};

// The uses of parameters by nodes.

// A parameter is used by a node that takes it as an argument, and by a call of a leaf that owns it.  An
// operator that runs subgraphs only passes its operands on: the nodes that take them inside are the users.
// Returning a parameter is not a use, as in FSDP's tracer, and buffers are not parameters.
class ParameterUses {
 public:
  // Parameters, as indices of their first names in the collection.
  using Parameters = std::vector<std::size_t>;
  using Visit = std::function<void(const Node& node, const Parameters& parameters)>;

  // `collection` must outlive this, and lint() must hold for it.
  explicit ParameterUses(const GraphCollection& collection);

  // Returns the parameter's index; nothing for a name that is not a parameter's.
  std::optional<std::size_t> find_parameter(std::string_view name) const;
  // Returns the parameters of a module and its submodules, in the order of registration.
  const Parameters& of_module(const std::string& path);
  // Calls visit(node, parameters) for each node of the graph and its subgraphs that uses parameters, in the
  // order of execution.
  void for_each(const ModuleGraph& graph, const Visit& visit);

 private:
  using Values = std::unordered_map<std::uint32_t, Parameters>;  // the parameters that are values of nodes
  struct Body;
  using Bodies = std::unordered_map<std::string_view, Body>;

  void visit_graph(const ModuleGraph& graph, Values values, const Visit& visit);
  bool hand_over(const ModuleGraph& graph, const Node& call, const Values& values, Bodies& bodies);
  void merge(Parameters& into, const Parameters& more);

  const GraphCollection& collection_;
  std::map<std::string_view, std::size_t> by_name_;
  std::unordered_map<std::string, Parameters> of_module_;
  std::int64_t merged_ = 0;
};

}  // namespace fxtrace::internal
