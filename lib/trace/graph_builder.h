// Builds one graph: its nodes, constants and guards, and the subgraphs of its operators.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/graph_collection.h"
#include "trace/journal.h"

namespace fxtrace {

// One of the graphs that are recorded together: a module's, or a subgraph in it.  Ids are given once.
struct GraphId {
  std::uint32_t index = UINT32_MAX;
  bool operator==(const GraphId&) const = default;
};

inline constexpr GraphId kRootGraph{0};  // the module's own

// A value: the node, and the graph that it is in.
struct NodeRef {
  GraphId graph;
  NodeId node;
  bool valid() const { return node.valid(); }
  bool operator==(const NodeRef&) const = default;
};

class GraphBuilder {
 public:
  // `name` is that of Subgraph, empty for a module's graph; `module` and `type` are those of ModuleGraph.
  // Everything can be undone through the journal, which must outlive this.
  GraphBuilder(GraphId id, std::string name, std::string module, std::string type, Journal& journal);
  GraphBuilder(const GraphBuilder&) = delete;
  GraphBuilder& operator=(const GraphBuilder&) = delete;

  GraphId id() const { return id_; }
  const std::string& name() const { return name_; }
  const Graph& graph() const { return result_.graph; }
  Graph& graph() { return result_.graph; }
  const ModuleGraph& result() const { return result_; }

  NodeId append(Graph::NodeSpec spec);
  // One node for each target, each constant and each value captured: what find_x() does not find is made.
  std::optional<NodeId> find_attr(const std::string& target) const;
  NodeId get_attr(Graph::NodeSpec spec);
  // `identity` tells equal ones; the name is made up.
  std::optional<NodeId> find_constant(const void* identity) const;
  NodeId constant(const void* identity, const std::function<Constant()>& make, Shared<Scope> scope,
                  Shared<std::optional<SourceLocation>> source);
  // One that has a name, which find_attr() finds.
  NodeId named_constant(const std::string& name, const std::function<Constant()>& make, Shared<Scope> scope);
  void guard(Expression expr, std::optional<SourceLocation> source);
  void set_signature(GraphSignature signature) { result_.signature = std::move(signature); }

  // The input that stands for a value of the graph around this one, which is called `name` there.  One for
  // each value, made at the first use, before all nodes.
  NodeId capture(NodeId outer, const std::string& name, Shared<Scope> scope, Meta meta);
  // Those values, in the order of the inputs.
  const std::vector<NodeId>& captured() const { return captured_; }
  // Puts these inputs into that order, behind those that stand for no value.  All must be there, and a node
  // that is no input.
  void arrange_inputs(const std::vector<NodeId>& captured);
  // The value that an input stands for; invalid for any other node.
  NodeId captured_as(NodeId input) const;
  // What a value of this graph is for a subgraph, where it cannot go in as it is.
  std::optional<NodeId> find_operand(NodeId value) const;
  void set_operand(NodeId value, NodeId operand);
  // The node that makes a value of the graph around this one anew.
  std::optional<NodeId> find_converted(NodeId outer) const;
  void set_converted(NodeId outer, NodeId node);

  // That using the node is using a parameter; what number it has is the caller's business.
  void stands_for_parameter(NodeId node, std::size_t parameter);
  std::optional<std::size_t> find_parameter(NodeId node) const;
  bool has_parameters() const { return !parameters_.empty(); }

  void add_subgraph(std::string name, ModuleGraph graph);
  // "true_graph_1": of that kind there is one already.
  std::string next_subgraph(const std::string& kind) const;
  // The inverse.
  ModuleGraph take_last_subgraph();

  // What was built; put_back() is the inverse, as long as the builder lives.
  ModuleGraph take() { return std::move(result_); }
  void put_back(ModuleGraph result) { result_ = std::move(result); }
  // At the end: cannot be undone.
  void drop_unused_attributes();

 private:
  using NodeTable = std::unordered_map<std::uint32_t, NodeId>;
  static std::optional<NodeId> find(const NodeTable& table, NodeId key);
  void set(NodeTable& table, NodeId key, NodeId value);
  void before_growing();

  GraphId id_;
  std::string name_;
  Journal& journal_;
  std::uint64_t epoch_ = UINT64_MAX;  // of the journal, when what grows was last marked
  ModuleGraph result_;
  std::unordered_map<std::string, NodeId> attributes_;
  std::unordered_map<const void*, NodeId> constants_;
  std::unordered_map<std::uint32_t, std::size_t> parameters_;  // by node
  std::unordered_set<std::string> guard_keys_;                 // what and where
  NodeTable inputs_;                                           // by outer node
  std::vector<NodeId> captured_;
  NodeTable operands_;   // by node
  NodeTable converted_;  // by outer node
};

}  // namespace fxtrace
