// The uses of parameters by nodes.
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

#include "graph/graph_collection.h"

namespace fxtrace::internal {

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
