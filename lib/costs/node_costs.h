// The costs of calls in a graph, one after another: of all nodes for a graph's, of some for a leaf's that
// stands for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "costs/cost_log.h"
#include "costs/custom_costs.h"
#include "graph/graph_collection.h"
#include "opinfo/operator_entry.h"
#include "shapes/abstract_value.h"

namespace fxtrace::internal {

class NodeCosts {
 public:
  // All must outlive this.  `uses` are the uses that count, by node, for the graph of a program: it has a
  // node for each result of an operation, and those without a use take no memory.  Null when all nodes count.
  NodeCosts(const ModuleGraph& graph, const CustomCosts& custom, const std::vector<std::uint32_t>* uses);

  // Begins a sum.  Values of nodes that are not added to it count as already allocated.
  void begin();
  CostLog& log() { return run_->log; }
  // Adds a node, whose arguments were added before it.  Returns whether it is a call that has a cost; inputs,
  // the output and items of results have none.
  bool add(const Node& node);
  // Returns the cost of the call that was added last, without bytes of parameters.
  Cost last() const { return last_ ? *last_ : run_->log.last(); }
  // Returns the sum of these nodes alone, which are in the order of the graph.
  Cost sum(const std::vector<NodeId>& nodes);

  // What is known of the node's value: its shape and dtype, and, once it was added, its memory.
  AbstractValue& known(NodeId id);

 private:
  struct Run {
    Run() : log(dimensions) {}  // no initializer: clang asks for it before the class is complete
    ShapeEnv dimensions;
    CostLog log;
  };

  bool add_operator(const Node& node, const OperatorEntry& op);
  bool add_known(const Node& node, Cost cost);
  Cost cost_of_call(const Node& node) const;
  void add_item(const Node& node);
  Cost custom_cost(const Node& node, const CustomCosts::Rule& rule);
  Cost higher_order_cost(const Node& node, const TargetParts& target);
  std::optional<Cost> find_subgraph_cost(const std::string& name) const;
  const OperatorEntry* find_operator_of(const std::string& target);
  AbstractValue taken_items(const Node& node) const;
  bool is_unused(const Node& item) const { return uses_ != nullptr && (*uses_)[item.id.index] == 0; }
  bool is_taken(const Node& node, std::ptrdiff_t index) const;

  const ModuleGraph& module_graph_;
  const Graph& graph_;
  const CustomCosts& custom_;
  const std::vector<std::uint32_t>* uses_;
  std::optional<Run> run_;
  std::optional<Cost> last_;          // null: that of the log
  std::vector<AbstractValue> known_;  // by node, once is_known_
  std::vector<bool> is_known_;
  std::unordered_map<const std::string*, const OperatorEntry*> operators_;  // by target; null for others
};

}  // namespace fxtrace::internal
