// What nodes do besides giving a result: everything that a pass must know before it moves, merges or drops
// one.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "families/aliases.h"
#include "families/traits.h"
#include "graph/graph_collection.h"
#include "operators/operators.h"

namespace fxtrace {

struct Effects {
  bool is_unknown = false;         // it may do anything to what it is given, and to the process
  bool is_random = false;          // draws random numbers
  bool has_side_effect = false;    // prints, changes the process or the state of an object
  bool switches = false;           // how the calls behind it compute: autocast, gradients
  bool asserts = false;            // does nothing, or raises
  bool reads_elements = true;      // false: asks for sizes and types alone
  bool changes_shape = false;      // of what it writes
  bool joins_inputs = false;       // they share memory afterwards: a list gets a tensor
  bool writes_parameters = false;  // a leaf: those of the module
  std::vector<NodeId> written;     // inputs whose memory it writes, or may
  std::vector<NodeId> shared;      // inputs whose memory the result may share

  // The result depends on the inputs alone, and nothing else happens.
  bool is_pure() const {
    return !is_unknown && !is_random && !has_side_effect && !asserts && !writes_parameters && written.empty();
  }
};

// What the table of operators says of one, worked out once.
struct OperatorInfo {
  const Operator* op = nullptr;
  Schema schema;
  Traits traits = 0;
  std::vector<Alias> aliases;
  const Operator* twin = nullptr;  // its functional form; null where there is none
};

// What the node gives for that argument of the schema; null when it was left out.
const Argument* find_argument(const Node& node, const Schema& schema, std::size_t index);
const Argument* find_argument(const Node& node, const Schema& schema, std::string_view name);

class Semantics {
 public:
  // `collection` must outlive this; its modules and parameters do not change meanwhile.
  explicit Semantics(const GraphCollection& collection);

  Effects effects(const ModuleGraph& graph, const Node& node);
  // The subgraph may write what it is given.
  bool writes_inputs(const ModuleGraph& subgraph) { return subgraph_effects(subgraph).writes_inputs; }
  // Null for what the table does not have.
  const OperatorInfo* find_operator(const std::string& target);
  // Of parameters that are tied the name that comes first; of others the name itself.
  const std::string& first_name(const std::string& parameter) const;
  // Calls f(first name) for each parameter and buffer of the module and those below it.
  void for_each_parameter(const std::string& module, const std::function<void(const std::string&)>& f) const;
  // What is known of subgraphs is kept; not any more, as some have changed.
  void forget_subgraphs() { subgraphs_.clear(); }

 private:
  // What running a subgraph does.
  struct SubgraphEffects {
    Effects effects;  // of all nodes together; `written` and `shared` are empty
    bool writes_inputs = false, gives_inputs = false;
  };

  void add_operator(const Graph& graph, const Node& node, const OperatorInfo& info, Effects& effects) const;
  void add_function(const Node& node, Effects& effects) const;
  void add_subgraphs(const ModuleGraph& graph, const Node& node, Effects& effects);
  void add_leaf(const Node& node, Effects& effects) const;
  const SubgraphEffects& subgraph_effects(const ModuleGraph& graph);
  const Argument* find_attribute(const std::string& module, std::string_view name) const;

  std::unordered_map<std::string_view, const ModuleRecord*> modules_;
  std::map<std::string_view, const ParameterRecord*> parameters_;
  std::unordered_map<std::string, std::unique_ptr<OperatorInfo>> operators_;
  std::unordered_map<const ModuleGraph*, SubgraphEffects> subgraphs_;
};

}  // namespace fxtrace
