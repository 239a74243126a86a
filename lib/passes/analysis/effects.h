// The effects of nodes: everything that a pass must know before it moves, merges or drops one.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/graph_collection.h"
#include "operators/operators.h"
#include "opinfo/aliases.h"
#include "opinfo/operator_entry.h"
#include "opinfo/traits.h"

namespace fxtrace {

struct Effects {
  bool is_unknown = false;         // it may have any effect on its inputs and on the process
  bool is_random = false;          // draws random numbers
  bool has_side_effect = false;    // prints, changes the process or the state of an object
  bool switches = false;           // changes a mode for later calls: autocast, gradients
  bool asserts = false;            // has no effect but to raise
  bool reads_elements = true;      // false: reads only sizes and types
  bool changes_shape = false;      // changes sizes or strides of what it writes
  bool joins_inputs = false;       // its inputs become aliases: a tensor is put into a list
  bool writes_parameters = false;  // a leaf that may write those of its module
  std::vector<NodeId> written;     // inputs whose memory it may write
  std::vector<NodeId> shared;      // inputs that the result may alias

  // Returns whether the result depends on the inputs alone and there is no effect.
  bool is_pure() const {
    return !is_unknown && !is_random && !has_side_effect && !asserts && !writes_parameters && written.empty();
  }
};

// Returns the node's argument for that parameter of the schema; null when it was left out.
const Argument* find_argument(const Node& node, const Schema& schema, std::size_t index);
const Argument* find_argument(const Node& node, const Schema& schema, std::string_view name);

class Semantics {
 public:
  // `collection` must outlive this; its modules and parameters must not change meanwhile.
  explicit Semantics(const GraphCollection& collection);

  Effects effects(const ModuleGraph& graph, const Node& node);
  // Returns whether the subgraph may write to its inputs.
  bool writes_inputs(const ModuleGraph& subgraph) { return subgraph_effects(subgraph).writes_inputs; }
  // Returns the operator's facts; null when the table does not have it.
  const OperatorEntry* find_operator(const std::string& target);
  // Returns the first name of a tied parameter, or the name itself.
  const std::string& first_name(const std::string& parameter) const;
  // Returns the same name for parameters and buffers that are one piece of memory: tied ones, and views of
  // one storage that overlap.  A collection from JSON tells the first only.
  const std::string& memory_name(const std::string& parameter) const;
  // Calls f(first name) for each parameter and buffer of the module and its submodules.
  void for_each_parameter(const std::string& module, const std::function<void(const std::string&)>& f) const;
  // Drops cached effects of subgraphs; to be called after a subgraph was changed.
  void forget_subgraphs() { subgraphs_.clear(); }

 private:
  // The effects of running a subgraph.
  struct SubgraphEffects {
    Effects effects;  // union over all nodes; `written` and `shared` are empty
    bool writes_inputs = false, gives_inputs = false;
  };

  void add_operator(const Graph& graph, const Node& node, const OperatorEntry& info, Effects& effects) const;
  void add_function(const Node& node, Effects& effects) const;
  void add_subgraphs(const ModuleGraph& graph, const Node& node, Effects& effects);
  void add_leaf(const Node& node, Effects& effects) const;
  const SubgraphEffects& subgraph_effects(const ModuleGraph& graph);
  const Argument* find_attribute(const std::string& module, std::string_view name) const;
  void find_overlaps(const GraphCollection& collection);

  std::unordered_map<std::string_view, const ModuleRecord*> modules_;
  std::map<std::string_view, const ParameterRecord*> parameters_;
  std::unordered_map<std::string_view, const std::string*> memory_names_;  // of those that overlap others
  std::unordered_map<std::string, const OperatorEntry*> operators_;
  std::unordered_map<const ModuleGraph*, SubgraphEffects> subgraphs_;
};

}  // namespace fxtrace
