// The effects of single nodes: everything that a pass must know before it moves, merges or drops one.
//
// Effects are read from facts, not guessed: operators from their schemas and traits (opinfo/), Python
// functions and leaf modules from tables (operators/names/), control flow from the nodes of its subgraphs.
// Arguments and module attributes are taken into account where they are known: dropout with train=False is
// not random.
//
// Invariants:
// 1. Effects are conservative.  A flag that is set, and an input that is listed, means "may"; only the
//    opposite is a promise.  (reads_elements is the same: only false is a promise.)
// 2. A node of which nothing is known may do anything to its inputs: is_unknown and joins_inputs are set, and
//    `written` and `shared` list all inputs.  An unknown leaf also has writes_parameters.
// 3. Effects are local: `written` and `shared` name inputs of the node itself.  Other names of that memory
//    are found from all nodes together (alias_regions.h).
// 4. Placeholders, get_attr nodes and the output have no effects.
// 5. A call of control flow has the union of its subgraphs' flags.  If a subgraph may write to an input, all
//    inputs of the call are written; if it may return one, all are shared and joined.  The effects of a
//    subgraph are computed once and cached until forget_subgraphs().
// 6. A pure node (is_pure()) can be dropped when it has no users.  Two equal pure nodes give equal values if
//    nothing that they read is written and no mode is switched (switches) in between; their memory may still
//    be the inputs' (shared).
//
// Example, with one call a line:
//
//   aten.relu.default(%x)                      no effects: pure
//   aten.select.int(%x, 0, 0)                  shared {x}: pure, but a write to the result is one to %x
//   aten.add_.Tensor(%x, %y)                   written {x}, shared {x}
//   aten.sym_size.int(%x, 0)                   reads_elements is false: a write of elements does not matter
//   mine.f.default(%x, %y)                     unknown: written {x, y}, shared {x, y}, joins_inputs
//   cond(%p, g1, g2, [%x]), where g1 adds 1 to its operand in place and returns another tensor
//                                              written {p, x}
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
#include "opinfo/operator_entry.h"
#include "opinfo/traits.h"

namespace fxtrace::internal {

struct Effects {
  bool is_unknown = false;         // may have any effect on its inputs and on the process
  bool is_random = false;          // draws random numbers
  bool has_side_effect = false;    // prints, changes the process or the state of an object
  bool switches = false;           // changes a mode for later calls: autocast, gradients
  bool asserts = false;            // may raise, as its only effect
  bool reads_elements = true;      // false: reads only sizes and types
  bool changes_shape = false;      // changes sizes or strides of what it writes
  bool joins_inputs = false;       // its inputs may become aliases: a tensor is put into a list
  bool writes_parameters = false;  // a leaf that may write the parameters of its module
  std::vector<NodeId> written;     // inputs whose memory it may write
  std::vector<NodeId> shared;      // inputs that the result may alias

  // Returns whether the result depends on the inputs alone and there is no effect.
  bool is_pure() const {
    return !is_unknown && !is_random && !has_side_effect && !asserts && !writes_parameters && written.empty();
  }
};

// Returns the effects of a call of an operator.
Effects effects_of_operator(const Graph& graph, const Node& node, const OperatorEntry& info);

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
  // Returns the same name for parameters and buffers that share memory: tied ones, and views of one storage
  // that overlap.  So do plain attributes that hold tensors.  A collection from JSON tells only which
  // parameters and buffers are tied.
  const std::string& memory_name(const std::string& parameter) const;
  // Calls f(first name) for each parameter and buffer of the module and its submodules.
  void for_each_parameter(const std::string& module, const std::function<void(const std::string&)>& f) const;
  // Drops cached effects of subgraphs; to be called after a subgraph was changed.
  void forget_subgraphs() { subgraphs_.clear(); }

 private:
  // The effects of running a subgraph.  `effects` is the union over all nodes, with empty `written` and
  // `shared`.
  struct SubgraphEffects {
    Effects effects;
    bool writes_inputs = false, gives_inputs = false;
  };

  void add_subgraphs(const ModuleGraph& graph, const Node& node, Effects& effects);
  void add_leaf(const Node& node, Effects& effects) const;
  const SubgraphEffects& subgraph_effects(const ModuleGraph& graph);
  const Argument* find_attribute(const std::string& module, std::string_view name) const;
  void find_overlaps(const GraphCollection& collection);

  std::unordered_map<std::string_view, const ModuleRecord*> modules_;
  std::map<std::string_view, const ParameterRecord*> parameters_;
  // By parameter or buffer that overlaps others in memory: the name that they share.
  std::unordered_map<std::string_view, const std::string*> memory_names_;
  std::unordered_map<std::string, const OperatorEntry*> operators_;
  std::unordered_map<const ModuleGraph*, SubgraphEffects> subgraphs_;
};

// Finds calls that switch a mode of torch (autocast, gradients) without effect on any later call.

// A backward analysis: add() must be called for each node that is kept, from the graph's end to its start.
class Switches {
 public:
  Switches(const ModuleGraph& graph, Semantics& semantics) : graph_(graph), semantics_(semantics) {}

  // Returns the nodes that can be erased now, users first: this node, and the call that closes the region it
  // opens.
  std::vector<NodeId> add(const Node& node);

 private:
  struct Region {
    NodeId closed_by;
    bool has_calls = false;
  };

  std::vector<NodeId> open(const Node& node);
  bool may_depend_on_switches(const Node& node);
  bool is_number(const Node& node) const;

  const ModuleGraph& graph_;
  Semantics& semantics_;
  std::vector<Region> regions_;  // regions around the current place, the innermost last
  bool is_set_behind_ = false;   // the mode is set again before any call that depends on it
};

}  // namespace fxtrace::internal
