// The builder of one graph, with an undo log, and values that are the same node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "graph/graph_collection.h"

namespace fxtrace::internal {

// Undo log: the inverse of every step, run in reverse order.

class Journal {
 public:
  using Mark = std::size_t;

  // Begins a new epoch, which can be undone by itself.
  Mark mark() {
    ++epoch_;
    return inverses_.size();
  }
  void add(std::function<void()> inverse) { inverses_.push_back(std::move(inverse)); }
  // An inverse must not add steps.
  void undo_to(Mark mark) {
    for (; inverses_.size() > mark; inverses_.pop_back()) inverses_.back()();
    ++epoch_;
  }
  // Commits all steps.
  void forget() { inverses_.clear(); }
  // Returns the current epoch.  The steps of an epoch are undone together, so a class that can revert many
  // steps at once adds an inverse only for the first step of each epoch.
  std::uint64_t epoch() const { return epoch_; }

 private:
  std::vector<std::function<void()>> inverses_;
  std::uint64_t epoch_ = 0;
};

// The builder of one graph: its nodes, constants and guards, and the subgraphs of its operators.

// Identifies one of the graphs that are recorded together: a module's graph, or a subgraph in it.  Ids are
// never reused.
struct GraphId {
  std::uint32_t index = UINT32_MAX;
  bool operator==(const GraphId&) const = default;
};

inline constexpr GraphId kRootGraph{0};  // the module's own graph

// A value: a node, and the graph that holds it.
struct NodeRef {
  GraphId graph;
  NodeId node;
  bool valid() const { return node.valid(); }
  bool operator==(const NodeRef&) const = default;
};

class GraphBuilder {
 public:
  // `name` is Subgraph::name, empty for a module's graph; `module` and `type` are those of ModuleGraph.
  // Changes can be undone through the journal, which must outlive this.
  GraphBuilder(GraphId id, std::string name, std::string module, std::string type, Journal& journal);
  GraphBuilder(const GraphBuilder&) = delete;
  GraphBuilder& operator=(const GraphBuilder&) = delete;

  GraphId id() const { return id_; }
  const std::string& name() const { return name_; }
  const Graph& graph() const { return result_.graph; }
  Graph& graph() { return result_.graph; }
  const ModuleGraph& result() const { return result_; }

  NodeId append(Graph::NodeSpec spec);
  // Each target, each constant and each captured value has one node: find_attr() and the like look it up, and
  // the function next to each makes the node when there is none.
  std::optional<NodeId> find_attr(const std::string& target) const;
  NodeId get_attr(Graph::NodeSpec spec);
  // Makes a constant with a generated name.  Constants with the same `identity` share a node.
  std::optional<NodeId> find_constant(const void* identity) const;
  NodeId constant(const void* identity, const std::function<Constant()>& make, Shared<Scope> scope,
                  Shared<std::optional<SourceLocation>> source);
  // Makes a constant with a given name, under which find_attr() finds it.
  NodeId named_constant(const std::string& name, const std::function<Constant()>& make, Shared<Scope> scope);
  void guard(Guard guard);
  void set_signature(GraphSignature signature) { result_.signature = std::move(signature); }

  // Returns the input that stands for the value `outer`, called `name`, of the enclosing graph.  There is one
  // input for each captured value.  It is made at the first use, and placed behind the other inputs and
  // before all other nodes.
  NodeId capture(NodeId outer, const std::string& name, Shared<Scope> scope, Meta meta);
  // The captured values (nodes of the enclosing graph), in the order of their inputs.
  const std::vector<NodeId>& captured() const { return captured_; }
  // Moves the inputs that stand for `captured` into that order, behind all other inputs.  They must exist
  // already, and so must a node that is not an input.
  void arrange_inputs(const std::vector<NodeId>& captured);
  // Returns the value that an input stands for; an invalid id for any other node.
  NodeId captured_as(NodeId input) const;
  // Finds or sets the node that is passed to a subgraph in place of `value`, when `value` itself cannot be an
  // operand.
  std::optional<NodeId> find_operand(NodeId value) const;
  void set_operand(NodeId value, NodeId operand);
  // Finds or sets the node of this graph that recomputes the value `outer` of the enclosing graph.
  std::optional<NodeId> find_converted(NodeId outer) const;
  void set_converted(NodeId outer, NodeId node);

  // Declares that a use of `node` counts as a use of a parameter; the caller chooses the meaning of
  // `parameter`.
  void stands_for_parameter(NodeId node, std::size_t parameter);
  std::optional<std::size_t> find_parameter(NodeId node) const;
  bool has_parameters() const { return !parameters_.empty(); }

  void add_subgraph(std::string name, ModuleGraph graph);
  // Returns the next free name of a subgraph: "true_graph_1" for the kind "true" when there is one already.
  std::string next_subgraph(const std::string& kind) const;
  // The inverse of add_subgraph().
  ModuleGraph take_last_subgraph();

  // Moves out the result; put_back() is the inverse, as long as the builder lives.
  ModuleGraph take_result() { return std::move(result_); }
  void put_back(ModuleGraph result) { result_ = std::move(result); }
  // Erases attributes without users, and constants that only they read.  Call it when the graph is finished:
  // it cannot be undone.
  void drop_unused_attributes();

 private:
  using NodeTable = std::unordered_map<std::uint32_t, NodeId>;
  static std::optional<NodeId> find_node(const NodeTable& table, NodeId key);
  void set(NodeTable& table, NodeId key, NodeId value);
  void before_growing();

  GraphId id_;
  std::string name_;
  Journal& journal_;
  std::uint64_t epoch_ = UINT64_MAX;  // the epoch of the journal in which result_ was last marked
  ModuleGraph result_;
  std::unordered_map<std::string, NodeId> attributes_;
  std::unordered_map<const void*, NodeId> constants_;
  std::unordered_map<std::uint32_t, std::size_t> parameters_;  // by node
  std::unordered_set<std::string> guard_keys_;                 // expression and location
  NodeTable inputs_;                                           // by outer node
  std::vector<NodeId> captured_;
  NodeTable operands_;   // by node
  NodeTable converted_;  // by outer node
};

// Value numbering: recognises values of one graph that are computed in the same way.

// Returns whether both graphs have the same nodes in the same order, up to names.  Graphs that read
// attributes never count as the same.
bool is_same_code(const ModuleGraph& first, const ModuleGraph& second);

// Returns whether two values of the graph are the same by construction: one node, or calls of one function
// with the same arguments.  Nodes with ids below `pure_from` equal only themselves; the caller guarantees
// that the others are pure and that nothing is written between them.
bool is_same_value(const ModuleGraph& graph, NodeId first, NodeId second, std::uint32_t pure_from);

}  // namespace fxtrace::internal
