// Records one graph while a front end runs a module's forward on symbolic values: nodes with their scopes,
// the order of execution, and leaf modules.  It turns submodules that cannot be followed into leaves.
//
// A front end runs the code and calls the tracer for each operator.  A call of a submodule goes through
// inline_call().  When the code of the submodule throws TraceFailure, everything that the call recorded is
// taken back, as if it had never begun, and the submodule becomes one call_module node.
//
// 1. Every new node, constant, guard and subgraph, every entry of the execution log and of the builders'
//    tables, and every count of calls adds its inverse to the journal (graph_builder.h), so that undo_to()
//    takes it back.  A graph is marked once for each epoch of the journal: all its nodes of an epoch go
//    together.
// 2. Some things are never rolled back: the failed modules, stale(), nodes_made(), the ids of graphs and
//    nodes, module_gives(), and what set_meta() and the like change of nodes that are older than the mark.
//    inline_call() itself cuts back the stack of open calls.
// 3. TraceFailure ends at the innermost inline_call().  The module it ran for joins FailedModules, which all
//    graphs of a trace share, and is_leaf() is true of it from then on.  InputsAsked and TraceAgain pass
//    through: the whole graph is void.
// 4. inlined() has each module with at least one call inlined in the graph.  If a module fails while an
//    earlier call of it stands inlined, the graph is stale(): it must be traced again, with the module as a
//    leaf from the start.
// 5. Nodes are appended to the innermost open graph.  `builders_` has the module's own graph in front and the
//    open subgraphs behind it.  A value of an enclosing graph enters a subgraph only through use(), which
//    makes one input for each captured value at each level.
// 6. get_attr() reads tensors in the module's own graph, and get_state() reads every attribute there; both
//    enter subgraphs as captured values.  Other attributes and constants have a node in each graph that uses
//    them.
// 7. Before each node and each call, check_limit() compares the nodes of the innermost open graph and the
//    logged calls, together, with max_nodes.
//
// Example: forward of the root is `y = self.a(x); return self.b(y)`, and the forward of b is `z = self.c(y);
// return unsupported(z)`.
//
//   inline_call(a)   records the nodes of a and returns true
//   inline_call(b)   marks the journal and logs the call of b
//     inline_call(c)   records the nodes of c and returns true
//     unsupported      throws TraceFailure, which inline_call(b) catches: the nodes of c and the log of the
//                      calls of b and c are undone, b has failed, and inline_call(b) returns false
//   call_leaf(b)     the front end records %b = call_module[b](%y) instead
//
// The graph has a inlined and b as a leaf; inlined() is [a].  trace/search/trace.h then makes a graph for c.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/graph_collection.h"
#include "trace/tracer/execution_log.h"
#include "trace/tracer/graph_builder.h"
#include "trace/tracer/leaf_rules.h"
#include "trace/tracer/program.h"

namespace fxtrace::internal {

// An assignment of a tensor to an attribute, which the graph records as a copy into the attribute's tensor.
struct StateWrite {
  NodeId copy;         // aten.copy_.default(the attribute, the assigned tensor)
  std::string module;  // path of the module whose code assigns it
};

class GraphTracer {
 public:
  // `max_nodes` limits nodes and module calls together.  `fixed` holds the inputs that earlier runs of the
  // same graph asked for.  All references must outlive this.
  GraphTracer(const ModuleFacts& facts, const LeafRules& rules, std::int64_t max_nodes, FailedModules& failed,
              ModuleId root, const std::vector<FixedInput>& fixed);

  const LeafRules& rules() const { return rules_; }
  bool is_fixed(const std::string& input) const;
  bool is_given(const std::string& input) const;

  // --- nodes ---
  NodeId placeholder(const std::string& name, std::vector<Argument> default_value, Meta meta);
  // Returns the get_attr node of the target, which is made at its first use.
  NodeId get_attr(const std::string& target, Meta meta, Shared<std::optional<SourceLocation>> source);
  // Does the same for an attribute that changes from call to call.  Whatever its type, it is read in the
  // module's own graph.
  NodeId get_state(const std::string& target, Meta meta, Shared<std::optional<SourceLocation>> source);
  // Makes a node at every use, for a value that may have changed since the last one.
  NodeId get_attr_again(const std::string& target, Meta meta, Shared<std::optional<SourceLocation>> source);
  // Returns the node of a tensor of the program, which keeps its own name among the graph's constants.
  NodeId named_constant(const std::string& name, const std::function<Constant()>& make);
  // Returns the node of a tensor or script object without a qualified name.  Equal identities share a node.
  NodeId constant(const void* identity, const std::function<Constant()>& make,
                  Shared<std::optional<SourceLocation>> source);
  // `name_hint` is the node's preferred name; when empty, the name is made from the target.
  NodeId call_function(std::string target, std::vector<Argument> args, Kwargs kwargs, Meta meta,
                       Shared<std::optional<SourceLocation>> source, std::string name_hint = {});
  // Calls a function of the model's own Python; is_reserved_target() must be false of its name.
  // `is_recorded` is as in Node.
  NodeId call_model_function(std::string qualified_name, std::vector<Argument> args, Kwargs kwargs, Meta meta,
                             Shared<std::optional<SourceLocation>> source, bool is_recorded = false);
  NodeId call_method(std::string target, std::vector<Argument> args, Kwargs kwargs, Meta meta,
                     Shared<std::optional<SourceLocation>> source);
  void output(Argument value, Meta meta);
  // Records a guard of the graph or subgraph that is being recorded; guard_inputs() records one of the
  // module's own graph.
  void guard(Expression expr, std::optional<SourceLocation> source, GuardReason reason);
  void guard_inputs(Guard guard) { builders_.front()->guard(std::move(guard)); }
  // Records that forward assigns a plain value to an attribute.  Called after the run.
  void assign(Assignment assignment) { builders_.front()->graph().assign(std::move(assignment)); }
  void note_state_write(NodeId copy);
  std::vector<StateWrite> take_state_writes() { return std::move(state_writes_); }
  // Notes calls that an option asks to keep and that could not be kept.
  void add_unwrapped_calls(const std::vector<Diagnostic>& calls) {
    unwrapped_calls_.insert(unwrapped_calls_.end(), calls.begin(), calls.end());
  }
  std::vector<Diagnostic> take_unwrapped_calls() { return std::move(unwrapped_calls_); }
  bool has_inputs() const { return has_inputs_; }  // placeholders of the graph itself
  // Sets the signature of an exported program.
  void set_signature(GraphSignature signature);
  const Graph& graph() const { return builder().graph(); }
  // Gives access to the graph once its output is recorded; after an edit nothing can be rolled back.
  Graph& graph_to_rewrite() { return builder().graph(); }

  // --- subgraphs of higher-order operators ---
  // Between begin_subgraph() and end_subgraph(), nodes are recorded into a new graph, which becomes the
  // subgraph `name` of the enclosing one.  A call that fails in between rolls back everything that it
  // recorded, subgraphs that it began included.
  void begin_subgraph(std::string name);
  // Returns the values of the enclosing graph that the subgraph captured: the operator's operands for the
  // subgraph's inputs, in order.
  std::vector<NodeId> end_subgraph();
  // Makes an input of the subgraph that stands for no value of the enclosing graph, called `name` if that is
  // free.
  NodeId subgraph_input(const std::string& name, Meta meta);
  // Suspends the subgraph, to be resumed later within the same enclosing graph.
  using OpenSubgraph = std::shared_ptr<GraphBuilder>;
  OpenSubgraph suspend_subgraph();
  void resume_subgraph(OpenSubgraph subgraph);
  // Ends suspended subgraphs that have their outputs: the branches of a cond, or condition and body of a
  // loop. All get the same inputs, one for each value that any of them captured.  Returns these operands, in
  // order.
  std::vector<NodeId> end_subgraphs(const std::vector<OpenSubgraph>& subgraphs);
  bool in_subgraph() const { return builders_.size() > 1; }
  // Returns the next free subgraph name of that kind in the graph that is being recorded: "true_graph_0".
  std::string next_subgraph(const std::string& kind) const { return builder().next_subgraph(kind); }
  // Returns the node that stands for `value` in the graph that is being recorded: the value itself, or, for a
  // value of an enclosing graph, an input of the subgraph.  A float enters as a 0-d float64 tensor and a bool
  // as an integer, and is converted back inside; the dtype or device of a value is asked for again inside.
  // Throws TraceFailure for anything else: torch's control flow takes no other operands.
  NodeId use(const NodeRef& value);
  // Returns the value of the enclosing graph that an input of a subgraph stands for; invalid for any other
  // node.
  NodeRef captured_by(const NodeRef& input) const;
  // Returns a reference to a node of the graph that is being recorded, for use() in subgraphs.
  NodeRef ref(NodeId node) const { return {builder().id(), node}; }
  const Graph& graph_of(const NodeRef& value) const;
  // Records the call of the operator whose subgraphs were recorded.  Parameters among `for_subgraphs` count
  // as used by the subgraphs, not by the call.
  NodeId call_with_subgraphs(std::string target, std::vector<Argument> args, Kwargs kwargs, Meta meta,
                             Shared<std::optional<SourceLocation>> source, std::string name_hint,
                             const std::vector<NodeId>& for_subgraphs);
  // Declares that a use of `node` counts as a use of the parameter: subgraphs receive parameters as inputs.
  void stands_for_parameter(NodeId node, const std::string& qualified_name);

  // --- modules ---
  bool is_leaf(ModuleId module) const;
  bool has_failed(ModuleId module) const { return failed_.contains(module); }
  bool has_failures() const { return !failed_.order().empty(); }
  // Returns whether this graph calls the module, or one that contains it, as a leaf.  Such a call may change
  // the module's attributes.
  bool runs_in_leaf(ModuleId module) const;
  // `method` is the method that runs instead of forward (see Node::method).
  NodeId call_leaf(ModuleId module, std::vector<Argument> args, Kwargs kwargs, Meta meta,
                   Shared<std::optional<SourceLocation>> source, std::string method = {});
  // Runs `run` as the forward of `module`.  Returns false when `run` throws TraceFailure: everything it
  // recorded is rolled back, the module is a leaf from now on, and the caller must record the call as one.
  bool inline_call(ModuleId module, const std::function<void()>& run);
  // Marks a point to roll back to, from within the same call and subgraph.
  Journal::Mark mark() { return journal_.mark(); }
  void undo_to(Journal::Mark mark) { journal_.undo_to(mark); }
  // The number of nodes made so far, erased ones included.
  std::int64_t nodes_made() const { return nodes_made_; }
  // Erases an unused node of the graph that is being recorded.
  void erase(NodeId node) { builder().graph().erase(node); }
  // Returns internal::is_same_value() for the graph that is being recorded.
  bool is_same_value(NodeId first, NodeId second, std::uint32_t pure_from) const;
  // Runs `run`, which must not call a module, and rolls back everything that it recorded.
  void look_at(const std::function<void()>& run);
  // Begins a call as inline_call() does, for front ends whose calls cannot fail: nodes recorded until
  // leave_call() belong to the module.  A call whose nodes are not contiguous is entered once and resumed
  // later, with the number that enter_call() returned.
  std::int64_t enter_call(ModuleId module);
  void resume_call(ModuleId module, std::int64_t call);
  // Begins a call of another method than forward.  It does not count as a call of the module: the parameters
  // that it uses count as used by its caller.
  void enter_method(ModuleId module, const std::string& method);
  void leave_call();
  void set_program(NodeId call, ProgramPart program);
  void set_in_order_of_use(NodeId call);
  // Sets the cost of a call that stands for several operators.
  void set_cost(NodeId call, Cost cost);
  // Notes the tensors that a call of the module returns; only the first call counts.
  void module_gives(ModuleId module, std::vector<Meta> outputs);
  using ModuleOutputs = std::unordered_map<std::uint32_t, std::vector<Meta>>;  // by module
  ModuleOutputs take_module_outputs() { return std::move(module_outputs_); }
  void set_meta(NodeId node, Meta meta);
  ModuleId current_module() const { return calls_.back().module; }
  const Shared<Scope>& current_scope() const { return calls_.back().scope; }
  // Notes the names that the code gives to the inputs and results of a call (Execution::CallValues).
  struct CallNodes {
    using Named = std::vector<std::pair<std::string, NodeId>>;
    Named inputs, results;
    std::string type;
  };
  void note_call(Shared<Scope> scope, CallNodes nodes);
  // Records one call of the root, the stub graph of a root that cannot be followed; `method` is as
  // Node::method.
  NodeId call_root(std::vector<Argument> args, Meta meta, std::string method = "");

  // --- the end ---
  // Returns whether a module failed after a call of it had been inlined in this graph.
  bool stale() const { return stale_; }
  ModuleGraph take_result();
  const std::vector<ModuleId>& inlined() const { return inlined_; }

 private:
  // A call whose code records nodes.
  struct OpenCall {
    ModuleId module;  // the module whose forward runs; for a call of another method, the caller
    Shared<Scope> scope;
  };

  GraphBuilder& builder() { return *builders_.back(); }
  const GraphBuilder& builder() const { return *builders_.back(); }
  void open_builder(ModuleId module, std::string name);
  NodeId capture(std::size_t depth, NodeId outer);
  NodeId append(Graph::NodeSpec spec);
  NodeId get_attr_in(GraphBuilder& home, const std::string& target, Meta meta,
                     Shared<std::optional<SourceLocation>> source);
  void use_parameters(const std::vector<Argument>& args, const Kwargs& kwargs,
                      const std::vector<NodeId>& except = {});
  void use_all_parameters(ModuleId module);
  void check_limit();  // called before each node and each call
  Scope scope_of(ModuleId module, std::int64_t call, std::string method = {}) const;
  std::string name_hint(ModuleId module) const;

  const ModuleFacts& facts_;
  const LeafRules& rules_;
  std::int64_t max_nodes_;
  FailedModules& failed_;
  ModuleId root_;
  bool has_inputs_ = false;
  const std::vector<FixedInput>& fixed_;

  Journal journal_;
  ExecutionLog log_;
  std::vector<std::shared_ptr<GraphBuilder>> builders_;  // the graph, then the subgraphs that are open
  std::uint32_t next_graph_ = 0;
  std::vector<OpenCall> calls_;

  std::int64_t nodes_made_ = 0;
  bool stale_ = false;
  std::vector<Diagnostic> unwrapped_calls_;
  std::unordered_map<std::uint32_t, std::size_t> inline_count_;  // by module
  std::unordered_map<std::uint32_t, std::size_t> leaf_count_;    // by module
  std::vector<ModuleId> inlined_;
  std::vector<StateWrite> state_writes_;
  ModuleOutputs module_outputs_;
  std::vector<std::pair<Shared<Scope>, CallNodes>> noted_calls_;
};

}  // namespace fxtrace::internal
