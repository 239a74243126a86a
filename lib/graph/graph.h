// A graph of nodes in execution order, and the collection of graphs that a trace makes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/names.h"
#include "graph/node.h"

namespace fxtrace {

struct Constant;
struct Guard;
struct Execution;

// Owns its nodes.  Copies by value: NodeIds mean the same in the copy.  `users` of every node is kept by the
// mutators here and by nothing else.
class Graph {
 public:
  // What a node is made of; name and users are the graph's business.
  struct NodeSpec {
    Opcode op = Opcode::kPlaceholder;
    std::string target;
    std::vector<Argument> args;
    Kwargs kwargs;
    Scope scope;
    Meta meta;
    std::optional<SourceLocation> source;
    std::string name_hint;  // empty: made from the target
  };

  NodeId append(NodeSpec spec);

  const Node& node(NodeId id) const { return nodes_[id.index]; }
  // For fields that do not take part in the graph's structure.
  Meta& meta(NodeId id) { return nodes_[id.index].meta; }
  void set_source(NodeId id, std::optional<SourceLocation> source) {
    nodes_[id.index].source = std::move(source);
  }
  void set_method(NodeId id, std::string method) { nodes_[id.index].method = std::move(method); }
  void set_program_nodes(NodeId id, std::vector<std::string> names) {
    nodes_[id.index].program_nodes = std::move(names);
  }
  bool contains(NodeId id) const { return id.index < nodes_.size() && !erased_[id.index]; }

  std::size_t size() const { return count_; }
  // Nodes in execution order.
  std::vector<NodeId> order() const;

  // Refuses (throws Error, kInternal) a node that is still used.
  void erase(NodeId id);

  // Undoing: everything appended after mark() disappears with roll_back(), its names too.  Cost follows what
  // disappears.  Only valid while nothing but append() happened since the mark.
  struct Mark {
    std::size_t nodes = 0, names = 0;
  };
  Mark mark() const { return {nodes_.size(), names_.mark()}; }
  void roll_back(const Mark& mark);

 private:
  void add_users(NodeId id);

  std::vector<Node> nodes_;   // by id; erased ones stay as holes
  std::vector<bool> erased_;  // by id
  std::size_t count_ = 0;     // living nodes
  Names names_;
};

// Throws Error(kInternal) that names the first thing that is wrong: a use before its definition, users that
// do not match, a name used twice, placeholders that do not come first, an output that is not last.
void lint(const Graph& graph);

struct Constant {
  std::string dtype;
  std::vector<std::int64_t> shape;
  // Row-major elements, as many as the shape says; absent when there are more than kMaxConstantElements or
  // the dtype is no plain number.
  std::optional<std::vector<Argument>> data;
  std::string record;  // record of the archive that has the bytes: "constants/3"
  // Where the tensor stands in the record, in elements.
  std::vector<std::int64_t> stride = {};
  std::int64_t storage_offset = 0;
  // Of a script object: its class and its place in the archive's tuple of constants, which is `record`.  It
  // has neither dtype nor shape nor data.
  std::string object_type = {};
  std::int64_t object_index = 0;
};
inline constexpr std::int64_t kMaxConstantElements = 1024;

struct Guard {
  std::string expr;  // "x.dim() == 2"
  std::optional<SourceLocation> source;
};

// Order of execution, with the meaning of FSDP's _ExecutionInfo (torch/distributed/fsdp/_trace_utils.py).
struct Execution {
  struct Use {
    std::string module;               // path
    std::vector<std::string> params;  // names from the model's root
  };
  struct ModuleUses {
    std::string module;
    std::vector<Use> uses;
  };
  std::vector<std::string> module_forward_order;
  std::vector<std::string> param_forward_order;
  std::vector<ModuleUses> module_param_usage;  // in the order of each module's first call
};

// Inputs and outputs of an exported program in the program's own order, lifted ones included: what
// torch.export.graph_signature says, with the roles of its InputKind and OutputKind in lower case.
struct GraphSignature {
  struct Entry {
    std::string role;                   // "parameter", "user_input", "buffer_mutation", ...
    std::string name;                   // of the value in the program; empty for a constant output
    std::optional<std::string> target;  // of a lifted input its qualified name; of a mutation what changes
    std::optional<bool> persistent;     // of buffers
    std::vector<Argument> path;         // user inputs and outputs: keys and positions, outermost first
    std::optional<Argument> value;      // of a user input or output that the program fixed
    NodeId node;                        // that holds it in this graph; invalid when none does
  };
  std::vector<Entry> inputs, outputs;
};

struct Subgraph;

struct ModuleGraph {
  std::string module;  // path of the graph's root
  std::string type;
  Graph graph;
  std::vector<std::pair<std::string, Constant>> constants;  // in order of first use
  std::vector<Subgraph> subgraphs;                          // bodies of control flow
  std::vector<Guard> guards;
  std::optional<GraphSignature> signature;  // of the root's graph of an exported program
  std::optional<Execution> execution;       // absent in subgraphs
};

struct Subgraph {
  std::string name;
  ModuleGraph graph;
};

}  // namespace fxtrace
