// A call of cond or while_loop together with its subgraphs: their inputs are its operands, their outputs its
// results.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/graph_collection.h"

namespace fxtrace {

std::vector<NodeId> inputs_of(const Graph& graph);
// The values that the graph gives, where it gives a tuple or list of them; else null.
const std::vector<Argument>* outputs_of(const Graph& graph);
// Of operator.getitem(call, 2) the 2.
std::optional<std::size_t> item_index(const Node& node);

// The subgraphs of a graph by name, and how many arguments name each; as long as none is added or taken away.
class SubgraphIndex {
 public:
  explicit SubgraphIndex(ModuleGraph& graph);

  // Those among the arguments of the call, in their order.
  std::vector<Subgraph*> find(NodeId call) const;
  bool is_shared(const Subgraph& subgraph) const { return entries_.at(subgraph.name).uses > 1; }
  ModuleGraph& graph() const { return *graph_; }

 private:
  struct Entry {
    Subgraph* subgraph = nullptr;
    std::size_t uses = 0;
  };

  ModuleGraph* graph_;
  std::unordered_map<std::string_view, Entry> entries_;
};

class SubgraphCall {
 public:
  // Nothing for calls of other operators, of another form, and where a subgraph belongs to several calls.
  static std::optional<SubgraphCall> of(const SubgraphIndex& index, NodeId call);

  // Each tells whether there were any.
  bool drop_unused_results() const;   // of cond
  bool drop_unused_operands() const;  // that no subgraph reads
  bool drop_unused_carried() const;   // values of while_loop that only become themselves

 private:
  SubgraphCall(ModuleGraph& graph, NodeId call, std::vector<ModuleGraph*> subgraphs,
               std::vector<std::size_t> lists)
      : graph_(&graph), call_(call), subgraphs_(std::move(subgraphs)), lists_(std::move(lists)) {}

  bool is_loop() const { return lists_.size() == 2; }
  const Argument::List& operands(std::size_t list) const;
  std::vector<bool> used_results() const;
  void drop_results(const std::vector<bool>& keep) const;
  void drop_operands(const std::vector<bool>& keep) const;

  ModuleGraph* graph_;
  NodeId call_;
  std::vector<ModuleGraph*> subgraphs_;
  std::vector<std::size_t> lists_;  // which arguments are lists of operands
};

}  // namespace fxtrace
