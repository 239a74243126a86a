// Graphs as a user walks them: graphs, their nodes, and what is known of their values.
//
// Graph, Node and Meta are views: as cheap to copy as a pointer, valid for as long as any of them or the
// collection lives, and never changed.  They may be read by several threads.  A reference that a view returns
// is valid for as long as a view or the collection: keep one of them, not only the reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fxtrace/argument.h"
#include "fxtrace/values.h"

namespace fxtrace {

namespace internal {
struct GraphCollection;
struct ModuleGraph;
struct Node;
struct Meta;
using Owner = std::shared_ptr<const GraphCollection>;
}  // namespace internal

// A size, a cost or an integer: a number, or an expression of named dimensions.
struct Size {
  std::optional<std::int64_t> number;  // absent for an expression
  std::string text;                    // "batch*2"

  bool operator==(const Size&) const = default;
};

// An assumption of the trace: for inputs for which it does not hold, the graph is not that of the model.
struct Guard {
  std::string expression;  // of Python: "x.size(1) == 8"
  GuardReason reason = GuardReason::kAssert;
  std::optional<SourceLocation> source;
  std::string assumption;  // by the options: "x is float32[b, 8]"; may be empty
};

// What is known of a value.
class Meta {
 public:
  std::optional<std::string> type() const;         // "Tensor", "int", "List[Tensor]"
  std::optional<std::vector<Size>> shape() const;  // of a tensor
  std::optional<std::string> dtype() const;        // "float32"
  std::string device() const;                      // "cuda:0"; "cpu" if the file does not say
  std::optional<Size> value() const;               // of an integer, where it is known

  Meta(internal::Owner owner, const internal::Meta& meta) : owner_(std::move(owner)), meta_(&meta) {}

 private:
  internal::Owner owner_;
  const internal::Meta* meta_;
};

class Graph;

class Node {
 public:
  NodeId id() const;
  const std::string& name() const;  // unique in the graph, as torch.fx makes it
  Opcode op() const;
  // torch.fx's target: "aten.relu.default", "torch.nn.functional.relu", the path of a module or an attribute,
  // or the name of an input.
  const std::string& target() const;
  // The positional arguments, and those by keyword, in the order of the call.  They refer to other nodes by
  // NodeId: see Graph::node().
  const std::vector<Argument>& args() const;
  const std::vector<std::pair<std::string, Argument>>& kwargs() const;
  std::vector<Node> inputs() const;  // the nodes among the arguments, nested ones included, each once
  std::vector<Node> users() const;   // in the order in which they began to use this one
  const Scope& scope() const;        // the module whose code makes the node
  Meta meta() const;
  std::optional<SourceLocation> source() const;  // in the model's Python
  // The method that a call_module runs, if it is not forward.
  const std::string& method() const;
  // The multiply-accumulates, and the bytes of the results; absent when unknown.
  std::optional<Size> macs() const;
  std::optional<Size> result_bytes() const;
  // The nodes of the exported program that this one stands for; empty in other models.
  const std::vector<std::string>& program_nodes() const;
  std::string text() const;  // "%relu = call_function[aten.relu.default](%x)"
  Graph graph() const;

  bool operator==(const Node& other) const { return graph_ == other.graph_ && id() == other.id(); }

 private:
  friend class Graph;
  Node(internal::Owner owner, const internal::ModuleGraph& graph, const internal::Node& node)
      : owner_(std::move(owner)), graph_(&graph), node_(&node) {}

  internal::Owner owner_;
  const internal::ModuleGraph* graph_;
  const internal::Node* node_;
};

class Graph {
 public:
  const std::string& module() const;  // the path of the module whose forward it is; "" is the model's root
  const std::string& type() const;    // its type
  std::size_t size() const;           // the number of nodes
  std::vector<Node> nodes() const;    // in the order of execution
  // Returns the node that an argument of this graph's nodes refers to.  Throws Error(kUsage) for an id that
  // is none of this graph; one of another graph may name another node here.
  Node node(NodeId id) const;
  std::optional<Node> find(const std::string& name) const;  // takes time linear in the graph
  std::vector<Guard> guards() const;
  // The bodies of control flow, by the names that Argument::GraphRef has.
  std::vector<std::pair<std::string, Graph>> subgraphs() const;
  // The order of execution: paths of modules, the graph's own first, and qualified names of parameters, each
  // at its first use; with the meaning of FSDP's tracer.  Empty in subgraphs.
  std::vector<std::string> module_order() const;
  std::vector<std::string> parameter_order() const;
  std::optional<Size> macs() const;        // of all nodes; absent when unknown
  std::optional<Size> peak_bytes() const;  // the most bytes of results that live at a time

  Graph(internal::Owner owner, const internal::ModuleGraph& graph)
      : owner_(std::move(owner)), graph_(&graph) {}

 private:
  internal::Owner owner_;
  const internal::ModuleGraph* graph_;
};

}  // namespace fxtrace
