// A call of cond or while_loop together with its subgraphs, whose inputs are the call's operands and whose
// outputs are its results.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/graph_collection.h"

namespace fxtrace::internal {

std::vector<NodeId> inputs_of(const Graph& graph);
// Returns the graph's outputs when they are a tuple or list; else null.
const std::vector<Argument>* outputs_of(const Graph& graph);

// An index of a graph's subgraphs by name, with the number of arguments that name each.  Valid until a
// subgraph is added or removed.
class SubgraphIndex {
 public:
  explicit SubgraphIndex(ModuleGraph& graph);

  // Returns the subgraphs among the arguments of the call, in order.
  std::vector<Subgraph*> find_subgraphs(NodeId call) const;
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

// One call of cond or while_loop whose subgraphs belong to it alone.
class SubgraphCall {
 public:
  // Returns nothing for calls of other operators or of another form, and when a subgraph belongs to several
  // calls.
  static std::optional<SubgraphCall> read(const SubgraphIndex& index, NodeId call);

  // Each returns whether it dropped any.
  bool drop_unused_results() const;   // results of cond without users
  bool drop_unused_operands() const;  // operands that no subgraph reads
  bool drop_unused_carried() const;   // carried values of while_loop that are used only to compute themselves

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
  std::vector<std::size_t> lists_;  // indices of the arguments that are lists of operands
};

}  // namespace fxtrace::internal
