// A graph of nodes in execution order, with its constants, guards, signature and subgraphs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/namespace.h"
#include "graph/node.h"
#include "support/shared.h"

namespace fxtrace::internal {

using fxtrace::GuardReason;
using fxtrace::SignatureRole;

struct Constant;
struct Guard;
struct Execution;

// A plain value that the module's forward assigns to an attribute, which has it after the run.
struct Assignment {
  std::string target;  // qualified name from the model's root
  Argument value;
  std::optional<SourceLocation> source;
};

// A graph, which owns its nodes, in execution order.  A copy is independent; NodeIds keep their meaning in
// it.  Only the mutators below maintain Node::users.  Every function throws Error(kInternal) for an id that
// is not (or no longer) in the graph.
class Graph {
 public:
  // The fields of a new node; the graph chooses its name and derives its users.
  using NodeSpec = NodeFields;

  // --- reading ---
  const Node& node(NodeId id) const { return nodes_[place(id)]; }
  bool contains(NodeId id) const { return id.index < place_of_.size() && place_of_[id.index] != kNoPlace; }
  std::size_t size() const { return nodes_.size() - free_.size(); }
  std::size_t id_count() const { return place_of_.size(); }  // the index of every id is smaller
  // Nodes in execution order.
  std::vector<NodeId> order() const;
  NodeId first() const { return first_; }  // invalid when there is none, as for the next two
  NodeId last() const { return last_; }
  NodeId next(NodeId id) const { return links_[place(id)].next; }
  NodeId previous(NodeId id) const { return links_[place(id)].previous; }
  const Node* find(std::string_view name) const;  // null when there is none; takes linear time
  bool is_before(NodeId a, NodeId b) const { return rank(a) < rank(b); }
  // The assignments in the order of their execution, which is after the last node.  The nodes that they
  // refer to do not count them as users.
  const std::vector<Assignment>& assignments() const { return assignments_; }
  bool is_assigned(NodeId id) const;  // whether an assignment refers to the node

  // --- structure ---
  void reserve(std::size_t nodes);  // makes room for so many
  NodeId append(NodeSpec spec);
  NodeId insert_before(NodeId position, NodeSpec spec);
  void set_args(NodeId id, std::vector<Argument> args, Kwargs kwargs);
  // Replaces `from` by `to` in the arguments of all users for which where() holds, except `to` itself.  In
  // assignments, it is replaced when where() holds for the last node.
  void replace_all_uses(NodeId from, NodeId to, const std::function<bool(NodeId)>& where = {});
  void assign(Assignment assignment);
  // Replaces the value of each assignment by f(value).
  void map_assignments(const std::function<Argument(const Argument&)>& f);
  // Moves a node that has no arguments; its users must come after `position`.
  void move_before(NodeId position, NodeId id);
  // Erases a node.  Throws Error(kInternal) when it still has users, or an assignment refers to it.
  void erase(NodeId id);
  // Erases nodes that may use each other.  Throws Error(kInternal) when another node uses one of them.  Takes
  // time linear in their arguments and in the users of these.
  void erase(const std::vector<NodeId>& ids);

  // --- fields that do not take part in the structure ---
  Meta& meta(NodeId id) { return own(id).meta.edit(); }
  void set_source(NodeId id, Shared<std::optional<SourceLocation>> source) {
    own(id).source = std::move(source);
  }
  void set_method(NodeId id, std::string method) { own(id).method = std::move(method); }
  void set_cost(NodeId id, Shared<std::optional<Cost>> cost) { own(id).cost = std::move(cost); }
  void set_meta(NodeId id, Shared<Meta> meta) { own(id).meta = std::move(meta); }
  void set_scope(NodeId id, Shared<Scope> scope) { own(id).scope = std::move(scope); }
  void set_in_order_of_use(NodeId id, bool value) { own(id).in_order_of_use = value; }
  void set_program(NodeId id, Shared<ProgramPart> program) { own(id).program = std::move(program); }

  // A point to roll back to: roll_back() removes all nodes made since mark() and frees their names, but never
  // reuses their ids.  Takes time linear in the nodes removed.  Only valid when nothing happened in between
  // but append(), and insert_before() of nodes that no older node uses.
  struct Mark {
    std::size_t ids = 0, inserted = 0, names = 0;
  };
  Mark mark() const { return {place_of_.size(), inserted_.size(), names_.mark()}; }
  void roll_back(const Mark& mark);

 private:
  static constexpr std::uint32_t kNoPlace = UINT32_MAX;
  struct Link {
    NodeId previous, next;
    std::uint64_t rank = 0;  // grows along the order, with room for insertions
  };

  std::uint32_t place(NodeId id) const {
    if (!contains(id)) fail_for(id);
    return place_of_[id.index];
  }
  [[noreturn]] static void fail_for(NodeId id);
  Node& own(NodeId id) { return nodes_[place(id)]; }
  std::uint64_t rank(NodeId id) const { return links_[place(id)].rank; }
  void check_arguments(const NodeSpec& spec) const;
  NodeId make(NodeSpec spec, NodeId previous, NodeId next);
  void link(NodeId id, NodeId previous, NodeId next);
  void unlink(NodeId id);
  void release(NodeId id);
  void make_room(NodeId id);
  void add_user(NodeId input, NodeId user);
  void remove_user(NodeId input, NodeId user);

  std::vector<Node> nodes_;
  std::vector<Link> links_;  // of the node at the same index; separate, as traversals need little else
  std::vector<std::uint32_t> free_;      // indices without a node
  std::vector<std::uint32_t> place_of_;  // by id
  NodeId first_, last_;
  std::vector<NodeId> inserted_;  // nodes made by insert_before(), the newest last
  std::vector<Assignment> assignments_;
  Namespace names_;
  std::unordered_map<std::string, Shared<std::string>> targets_;  // interned targets of functions
};

// One of the tensors that a script object or a tensor subclass holds.
struct StoredPart {
  std::string name;  // torch's name of the part: "weight", "qdata"
  std::vector<std::int64_t> shape;
  std::string dtype;

  bool operator==(const StoredPart&) const = default;
};

struct Constant {
  std::string dtype;
  std::vector<std::int64_t> shape;
  // Elements in row-major order, as many as the shape says; absent when there are more than
  // kMaxConstantElements or the dtype is not a plain number.
  std::optional<std::vector<Argument>> data;
  std::string record;  // the record of the archive with the bytes: "constants/3"
  // Strides and storage offset within the record, in elements.
  std::vector<std::int64_t> stride = {};
  std::int64_t storage_offset = 0;
  // The class of a script object, which has neither dtype nor shape nor data, or kTensorConstant for a tensor
  // that bytes alone do not describe: a quantized or sparse one; `object_index` is its position in the tuple
  // of constants that `record` stores.
  std::string object_type = {};
  std::int64_t object_index = 0;
  std::string content = {};             // like ParameterRecord::content; not in the JSON
  std::vector<StoredPart> stored = {};  // the tensors that this object holds
};
inline constexpr std::int64_t kMaxConstantElements = 1024;
inline constexpr const char* kTensorConstant = "Tensor";

struct Guard {
  Expression expr;  // x.dim() == 2; see guard_expression() in trace/tracer/guard_expression.h
  std::optional<SourceLocation> source;
  GuardReason reason = GuardReason::kAssert;
  std::string assumption = {};  // the assumption by the options: "x is float32[b, 8]"; not in the JSON
};

// Order of execution, with the meaning of FSDP's _ExecutionInfo (torch/distributed/fsdp/_trace_utils.py).
struct Execution {
  struct Use {
    std::string module;  // path
    // Names from the model's root.  Modules nested in one another have the same ones.
    std::vector<Shared<std::string>> params;
  };
  struct ModuleUses {
    std::string module;
    std::vector<Use> uses;
  };
  // A call of a method other than forward, such as `encoder.encode(x)`: torch.fx traces it as code of the
  // caller.
  struct MethodCall {
    std::string module, method;
    std::size_t position = 0;  // the number of calls in module_forward_order that begin before it
    std::string caller = {};   // the path of the module whose code calls it; not in the JSON
  };
  // The names that the code gives to the values of a call, for extract().  Nodes are given by name, as a
  // pass may have removed them.
  struct CallValues {
    std::string module, method;  // like Scope::module_path and Scope::method
    std::int64_t call = 1;
    std::vector<std::pair<std::string, std::string>> inputs;  // parameters of forward, with their nodes
    // For a call that returns a named tuple of this type or a dict (empty type), the results; else none.
    std::string type = {};
    std::vector<std::pair<std::string, std::string>> results = {};  // fields or keys, with their nodes
  };
  std::vector<std::string> module_forward_order;
  std::vector<std::string> param_forward_order;
  std::vector<ModuleUses> module_param_usage;  // in the order of each module's first call
  std::vector<MethodCall> method_calls = {};
  // For each call in module_forward_order, the path of the module whose code calls it.  Not in the JSON, and
  // empty for a collection that was read from there.
  std::vector<Shared<std::string>> callers = {};
  std::vector<CallValues> call_values = {};
};

inline constexpr std::size_t kSignatureRoles = 13;

// The signature of an exported program, as in torch.export.graph_signature: its inputs and outputs in the
// program's own order, lifted ones included.  Role names are those of InputKind and OutputKind in lower case.
struct GraphSignature {
  struct Entry {
    SignatureRole role = SignatureRole::kUserInput;
    std::string name;                   // the name of the value in the program; empty for a constant output
    std::optional<std::string> target;  // qualified name of a lifted input or of a mutation's target
    std::optional<bool> persistent;     // of buffers
    std::vector<Argument> path;         // user inputs and outputs: keys and positions, outermost first
    std::optional<Argument> value;      // the value of a user input or output that the program fixed
    NodeId node;                        // the node with the value in this graph; invalid when there is none
    bool is_named = false;              // a result: its name is none that torch makes from the operator's
  };
  std::vector<Entry> inputs, outputs;
};

struct Subgraph;
struct ModuleGraph;

// The subgraphs of a graph, in order of first use.  Names must not change after add(). find_graph() takes
// constant time and returns the first of those that share a name.
class SubgraphList {
 public:
  using Iterator = std::vector<Subgraph>::iterator;
  using ConstIterator = std::vector<Subgraph>::const_iterator;
  Iterator begin();
  Iterator end();
  ConstIterator begin() const;
  ConstIterator end() const;
  std::size_t size() const;
  bool empty() const { return size() == 0; }
  Subgraph& operator[](std::size_t i);
  const Subgraph& operator[](std::size_t i) const;
  const ModuleGraph* find_graph(std::string_view name) const;  // null when there is none
  ModuleGraph* find_graph(std::string_view name);
  void add(Subgraph subgraph);
  Subgraph take_last();  // the list must not be empty
  void erase_if(const std::function<bool(const Subgraph&)>& which);

 private:
  std::vector<Subgraph> list_;
  std::unordered_map<std::string, std::size_t> places_;  // by name
};

struct ModuleGraph {
  std::string module;  // the path of the graph's root module
  std::string type;
  Graph graph;
  std::vector<std::pair<std::string, Constant>> constants;  // in order of first use
  SubgraphList subgraphs;                                   // the bodies of control flow
  std::vector<Guard> guards;
  std::optional<GraphSignature> signature;  // only in the root's graph of an exported program
  std::optional<Execution> execution;       // absent in subgraphs
  std::optional<Cost> cost;                 // the cost of all nodes; absent when not computed
};

struct Subgraph {
  std::string name;
  ModuleGraph graph;
};

inline SubgraphList::Iterator SubgraphList::begin() { return list_.begin(); }
inline SubgraphList::Iterator SubgraphList::end() { return list_.end(); }
inline SubgraphList::ConstIterator SubgraphList::begin() const { return list_.begin(); }
inline SubgraphList::ConstIterator SubgraphList::end() const { return list_.end(); }
inline std::size_t SubgraphList::size() const { return list_.size(); }
inline Subgraph& SubgraphList::operator[](std::size_t i) { return list_[i]; }
inline const Subgraph& SubgraphList::operator[](std::size_t i) const { return list_[i]; }

}  // namespace fxtrace::internal
