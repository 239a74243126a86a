// A graph of an exported program: a ModuleGraph, a table of what only programs say of its nodes, and a view
// of both.
//
// Each operation of the program is a call_function node.  Its result is the node itself; where it has several
// (ProgramNode::gives_value is false), each is an operator.getitem node behind it (ProgramNode::is_result),
// for which the program has no node of its own, only a name.  Constant objects are get_attr nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "graph/node.h"
#include "graph/rewrite.h"
#include "support/shared.h"

namespace fxtrace::internal {

struct Operator;

// One call of a module, by index into Hierarchy::calls(); the first is the root's.
using CallId = std::uint32_t;
inline constexpr CallId kRootCall = 0;

// What a program says of a node besides the graph.
struct ProgramNode {
  const Operator* op = nullptr;  // the operator that an operation calls; null when it is unknown
  CallId call = kRootCall;       // the innermost module call
  bool has_stack = false;        // false when the program names no module that runs the operation
  bool gives_value = true;       // the result of the operation is the node itself
  bool is_result = false;        // an item of the result of an operation
  bool has_effect = false;       // the program orders its effect by a token
  bool holds = false;            // an assert that always holds, given the dimensions
  OwnedText stack_trace = {};    // Python's frames, outermost first; of the program's JSON
};

struct ProgramTable {
  std::vector<ProgramNode> nodes;  // by NodeId::index
  // The program's names of operations and of values, where the graph has other ones.
  std::unordered_map<std::uint32_t, std::string> operation_names, value_names;
  // The only possible value of an integer or boolean, given the dimensions.
  std::unordered_map<std::uint32_t, Argument> fixed;
  // By result: the argument that it is itself, as for `to` the dtype of the tensor, or dropout with nothing
  // to drop.
  std::unordered_map<std::uint32_t, NodeId> given_back;
  std::unordered_map<std::uint32_t, std::vector<Meta::Dim>> strides;  // of tensors; only where one is written
  std::map<std::string, ProgramTable, std::less<>> subgraphs;         // of ModuleGraph::subgraphs

  ProgramNode& at(NodeId id) {
    if (nodes.size() <= id.index) nodes.resize(id.index + std::size_t{1});
    return nodes[id.index];
  }
};

// A value that an operation makes, and the indices that lead to it in the result; empty for the result
// itself.
struct ProgramResult {
  NodeId value;
  std::vector<std::int64_t> path;
};

// A graph of a program with its table; both must outlive it.
class ProgramView {
 public:
  ProgramView(const ModuleGraph& graph, const ProgramTable& table) : graph_(&graph), table_(&table) {}

  const ModuleGraph& module_graph() const { return *graph_; }
  const Graph& graph() const { return graph_->graph; }
  const ProgramTable& table() const { return *table_; }
  const Node& node(NodeId id) const { return graph().node(id); }
  const Meta& meta(NodeId id) const { return *node(id).meta; }
  const ProgramNode& facts(NodeId id) const;  // those of a node that the table does not have are the defaults

  std::vector<NodeId> inputs() const;
  std::vector<NodeId> operations() const;  // in topological order
  std::vector<NodeId> objects() const;     // constant objects
  std::vector<Argument> outputs() const;
  // Returns whether the output is outputs()[0] itself, not a tuple of it.
  bool has_single_output() const;
  bool is_operation(NodeId id) const;

  // Returns the results of an operation in the order in which the program lists them.
  std::vector<ProgramResult> results(NodeId operation) const;
  bool has_results(NodeId operation) const;
  // Calls f(NodeId) for each of them.
  template <class F>
  void for_each_result(NodeId operation, F&& f) const {
    if (facts(operation).gives_value) return f(operation);
    for (const ProgramResult& result : results(operation)) f(result.value);
  }
  // Returns the names that the program has for a value and for an operation.  An input that it fixes has
  // none, and in older files an operation with several results.
  const std::string& value_name(NodeId value) const;
  const std::string& operation_name(NodeId operation) const;
  std::unordered_map<std::string_view, NodeId> values_by_name() const;  // those that have names
  // Returns the only possible value of the integer or boolean; null when it is not known.
  const Argument* find_fixed(NodeId value) const;

  // Calls f(name, view) for the graphs among the arguments of an operation, in order.
  template <class F>
  void for_each_subgraph(NodeId operation, F&& f) const {
    if (graph_->subgraphs.empty()) return;
    for_each_of<Argument::GraphRef>(node(operation), [&](const Argument::GraphRef& graph) {
      if (const auto found = find_subgraph(graph.name)) f(graph.name, *found);
    });
  }
  std::optional<ProgramView> find_subgraph(std::string_view name) const;
  std::size_t count_subgraphs(NodeId operation) const;

 private:
  const Argument* find_output() const;  // that of the graph; null when it has none
  void add_results(NodeId of, std::vector<std::int64_t>& path, std::vector<ProgramResult>& results) const;

  const ModuleGraph* graph_;
  const ProgramTable* table_;
};

// A graph with its table.
struct ExportedGraph {
  ModuleGraph module_graph;
  ProgramTable table;

  ProgramView view() const { return {module_graph, table}; }
  // Appends a node for an item of a result, by append(spec).
  template <class F>
  NodeId append_item(NodeId of, std::int64_t index, F&& append) {
    const NodeId item = append(spec_of(Opcode::kCallFunction, "operator.getitem", {of, index}));
    table.at(item).is_result = true;
    return item;
  }
  // Appends a node for an item that is a list of items itself, and so no value of the program.
  NodeId append_list(NodeId of, std::int64_t index);
  // Appends a node that is the program's value of this name.
  NodeId append_value(Graph::NodeSpec spec, std::string_view name);
  void name_operation(NodeId operation, std::string_view name);  // says the program's name of an operation
};

inline constexpr int kMaxSubgraphs = 100;  // graphs within graphs

// Faults in the file of an exported program: lib/exported finds them, and the rules of `check --program`
// judge them.

enum class ProgramFaultKind {
  kForm,       // the form: names defined twice or used before their definition, unknown syntax
  kSignature,  // inputs, outputs and mutations, and how they are nested
  kRecord,     // the weights and constants in the archive
  kMeta,       // metadata of values: types, sizes, ranges
  kCall,       // arguments and results of operators
  kModule,     // the modules whose calls made the operations
};
inline constexpr std::size_t kProgramFaultKinds = 6;
const char* to_string(ProgramFaultKind kind);  // "form"

struct ProgramFault {
  ProgramFaultKind kind = ProgramFaultKind::kForm;
  std::string message;                   // for people, without the place; text from the file is not escaped
  std::string subject = {};              // the operator or tensor
  std::string module = {};               // the module's path
  std::optional<std::string> node = {};  // the node or value
  std::string graph = {};  // ":" and the bodies around the node; empty in the program's own graph
  std::optional<std::string> record = {};  // a record of the archive, instead of a module
  std::optional<SourceLocation> source = {};
};

}  // namespace fxtrace::internal
