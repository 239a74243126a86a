// Records one graph while a front end runs a module's forward on symbolic values: nodes with their scopes,
// the order of execution, leaf modules, and what happens when a submodule cannot be followed.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/graph_collection.h"
#include "trace/execution_log.h"
#include "trace/graph_builder.h"
#include "trace/journal.h"
#include "trace/leaf_rules.h"
#include "trace/module_facts.h"
#include "trace/program.h"

namespace fxtrace {

// Thrown by a front end when the forward that runs cannot be followed.  Caught at the innermost module call,
// which then becomes a leaf; never seen by users.
class TraceFailure : public std::exception {
 public:
  explicit TraceFailure(Failure f) : failure(std::move(f)) {}
  const char* what() const noexcept override { return failure.message.c_str(); }
  Failure failure;
};

// An input of a graph that is fixed because control flow asks for its value.
struct FixedInput {
  std::string name;
  std::string value;  // as Python writes it
  bool is_default = true;
  bool may_be_tensor = false;  // where it is None by default: given, it would be or hold one
  bool is_given = false;       // not fixed, but known not to be None: without it no input would be left
};

// Thrown by a front end that is asked for the values of these inputs and can tell them: nothing that was
// recorded holds, and the graph is to be traced again with the inputs fixed.  Passes through module calls.
class InputsAsked : public std::exception {
 public:
  explicit InputsAsked(std::vector<FixedInput> asked) : inputs(std::move(asked)) {}
  const char* what() const noexcept override { return "the values of inputs are asked for"; }
  std::vector<FixedInput> inputs;
};

class GraphTracer {
 public:
  // `max_nodes`: and module calls.  `fixed`: inputs that earlier runs of the same graph were asked for.  All
  // references must outlive this.
  GraphTracer(const ModuleFacts& facts, const LeafRules& rules, std::int64_t max_nodes, FailedModules& failed,
              ModuleId root, const std::vector<FixedInput>& fixed);

  const LeafRules& rules() const { return rules_; }
  bool is_fixed(const std::string& input) const;
  bool is_given(const std::string& input) const;

  // --- nodes ---
  NodeId placeholder(const std::string& name, std::vector<Argument> default_value, Meta meta);
  // One node for each target, made at the first use.
  NodeId get_attr(const std::string& target, Meta meta, Shared<std::optional<SourceLocation>> source);
  // A node for each use: the value may have changed since the last.
  NodeId get_attr_again(const std::string& target, Meta meta, Shared<std::optional<SourceLocation>> source);
  // A tensor of the program's own, under its own name in the graph's constants.
  NodeId get_constant(const std::string& name, const std::function<Constant()>& make);
  // A tensor or script object that has no qualified name.  `identity` tells equal ones.
  NodeId constant(const void* identity, const std::function<Constant()>& make,
                  Shared<std::optional<SourceLocation>> source);
  // `name_hint`: what the node is called if it can be; empty: made from the target.
  NodeId call_function(std::string target, std::vector<Argument> args, Kwargs kwargs, Meta meta,
                       Shared<std::optional<SourceLocation>> source, std::string name_hint = {});
  // Of the model's own Python; the name must not be is_reserved_target().
  NodeId call_model_function(std::string qualified_name, std::vector<Argument> args, Kwargs kwargs, Meta meta,
                             Shared<std::optional<SourceLocation>> source);
  NodeId call_method(std::string target, std::vector<Argument> args, Kwargs kwargs, Meta meta,
                     Shared<std::optional<SourceLocation>> source);
  void output(Argument value, Meta meta);
  void guard(Expression expr, std::optional<SourceLocation> source);
  // An option for this graph does nothing.
  void misfit(std::string message) { misfits_.push_back(std::move(message)); }
  bool has_inputs() const { return has_inputs_; }  // placeholders of the graph itself
  const std::vector<std::string>& misfits() const { return misfits_; }
  // What an exported program says of its inputs and outputs.
  void set_signature(GraphSignature signature);
  const Graph& graph() const { return builder().graph(); }
  // To edit the graph when its output is recorded: nothing can be taken back then.
  Graph& finished_graph() { return builder().graph(); }

  // --- subgraphs of higher-order operators ---
  // From begin_subgraph() to end_subgraph() nodes go to a graph of their own, which becomes the subgraph
  // `name` of the one around it.  Calls that fail in between take back what they recorded, the subgraph too
  // where they began it.
  void begin_subgraph(std::string name);
  // The values from around that the subgraph has captured: the operator's operands for its inputs, in order.
  std::vector<NodeId> end_subgraph();
  // An input of the subgraph that stands for nothing around it, called `name` if no other node is.
  NodeId subgraph_input(const std::string& name, Meta meta);
  // Leaves the subgraph as it is, to go on with it later, in the same graph around it.
  using OpenSubgraph = std::shared_ptr<GraphBuilder>;
  OpenSubgraph suspend_subgraph();
  void resume_subgraph(OpenSubgraph subgraph);
  // Ends subgraphs that are suspended and have their outputs: the ways of a branch, the parts of a loop.  All
  // get the same inputs, for the operands that are given back: what any of them captured, in that order.
  std::vector<NodeId> end_subgraphs(const std::vector<OpenSubgraph>& subgraphs);
  // "true_graph_0": the first of that kind in the graph that is being recorded.
  std::string next_subgraph(const std::string& kind) const { return builder().next_subgraph(kind); }
  // A value, to be used in the graph that is being recorded: itself, or, where it is from a graph around,
  // what stands for it in the subgraph.  That is an input, for tensors and integers; a float goes in as a
  // tensor of float64 without dimensions and a bool as an integer, and is made anew inside, as is a dtype or
  // device of a value.  Throws TraceFailure for anything else: control flow of torch takes no other operands.
  NodeId use(const NodeRef& value);
  // The value of the graph around that an input of a subgraph stands for; invalid for any other.
  NodeRef captured_by(const NodeRef& input) const;
  // A node of the graph that is being recorded, for use() in subgraphs.
  NodeRef ref(NodeId node) const { return {builder().id(), node}; }
  const Graph& graph_of(const NodeRef& value) const;
  // The call of the operator whose subgraphs were recorded.  Parameters among `for_subgraphs` are used where
  // the subgraphs use them, not by the call.
  NodeId call_with_subgraphs(std::string target, std::vector<Argument> args, Kwargs kwargs, Meta meta,
                             Shared<std::optional<SourceLocation>> source, std::string name_hint,
                             const std::vector<NodeId>& for_subgraphs);
  // Using this node is using the parameter: a subgraph gets parameters as its inputs.
  void stands_for_parameter(NodeId node, const std::string& qualified_name);

  // --- modules ---
  bool is_leaf(ModuleId module) const;
  bool has_failed(ModuleId module) const { return failed_.contains(module); }
  // Whether this graph calls the module, or one that holds it, as a leaf: then its attributes may change.
  bool runs_in_leaf(ModuleId module) const;
  // `method`: what runs instead of forward (see Node::method).
  NodeId call_leaf(ModuleId module, std::vector<Argument> args, Kwargs kwargs, Meta meta,
                   Shared<std::optional<SourceLocation>> source, std::string method = {});
  // Runs `run` as the forward of `module`.  False when that failed: then everything recorded since is gone,
  // the module is a leaf from now on, and the caller records it as one.
  bool inline_call(ModuleId module, const std::function<void()>& run);
  // What is recorded from now on can be taken back, by whoever is in the same call and subgraph.
  Journal::Mark mark() { return journal_.mark(); }
  void undo_to(Journal::Mark mark) { journal_.undo_to(mark); }
  // Nodes that were ever made, those included that are gone.
  std::int64_t nodes_made() const { return nodes_made_; }
  // A node of the graph that is being recorded, which nobody uses.
  void erase(NodeId node) { builder().graph().erase(node); }
  // See is_same_value(), in the graph that is being recorded.
  bool is_same_value(NodeId first, NodeId second, std::uint32_t pure_from) const;
  // Runs `run`, which calls no module, and takes back what it recorded.
  void look_at(const std::function<void()>& run);
  // As inline_call() for a front end that knows that nothing will fail: what is recorded until leave_call()
  // is the module's.  A call whose nodes do not stand together is entered once and resumed later.
  // enter_call() gives the number that resume_call() asks for.
  std::int64_t enter_call(ModuleId module);
  void resume_call(ModuleId module, std::int64_t call);
  void leave_call();
  void set_program_nodes(NodeId call, std::vector<std::string> names, ProgramValues values);
  // Of a call that stands for more than an operator: what it costs inside.
  void set_cost(NodeId call, Cost cost);
  // The tensors that a call of the module gives; the first call counts.
  void module_gives(ModuleId module, std::vector<Meta> outputs);
  using ModuleOutputs = std::unordered_map<std::uint32_t, std::vector<Meta>>;  // by module
  ModuleOutputs take_module_outputs() { return std::move(module_outputs_); }
  void set_meta(NodeId node, Meta meta);
  ModuleId current_module() const { return calls_.back().module; }
  // The stub of a graph whose own root cannot be followed.
  NodeId call_root(std::vector<Argument> args, Meta meta);

  // --- the end ---
  // A module was found to fail after a call of it had already been inlined in this graph.
  bool stale() const { return stale_; }
  ModuleGraph take();
  const std::vector<ModuleId>& inlined() const { return inlined_; }

 private:
  // A call whose forward records nodes.
  struct OpenCall {
    ModuleId module;
    Shared<Scope> scope;
  };

  GraphBuilder& builder() { return *builders_.back(); }
  const GraphBuilder& builder() const { return *builders_.back(); }
  void open_builder(ModuleId module, std::string name);
  NodeId capture(std::size_t depth, NodeId outer);
  NodeId append(Graph::NodeSpec spec);
  void use_parameters(const std::vector<Argument>& args, const Kwargs& kwargs,
                      const std::vector<NodeId>& except = {});
  void use_all_parameters(ModuleId module);
  void check_limit();  // before each node and each call
  Scope scope_of(ModuleId module, std::int64_t call) const;

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
  std::vector<std::string> misfits_;
  std::unordered_map<std::uint32_t, std::size_t> inline_count_;  // by module
  std::unordered_map<std::uint32_t, std::size_t> leaf_count_;    // by module
  std::vector<ModuleId> inlined_;
  ModuleOutputs module_outputs_;
};

}  // namespace fxtrace
