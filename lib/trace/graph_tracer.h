// Records one graph while a front end runs a module's forward on symbolic values: nodes with their scopes,
// the order of execution, leaf modules, and what happens when a submodule cannot be followed.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "graph/graph_collection.h"
#include "trace/leaf_rules.h"
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
};

// Thrown by a front end that is asked for the values of these inputs and can tell them: nothing that was
// recorded holds, and the graph is to be traced again with the inputs fixed.  Passes through module calls.
class InputsAsked : public std::exception {
 public:
  explicit InputsAsked(std::vector<FixedInput> asked) : inputs(std::move(asked)) {}
  const char* what() const noexcept override { return "the values of inputs are asked for"; }
  std::vector<FixedInput> inputs;
};

// Facts about a program that every graph of a trace shares.
class ModuleFacts {
 public:
  explicit ModuleFacts(const Program& program);

  // The module under its first path.
  ModuleId first(ModuleId module) const;
  const ModuleInfo& info(ModuleId module) const { return (*modules_)[module.index]; }
  std::size_t size() const { return modules_->size(); }
  // Parameters (no buffers) of the module and all its submodules in the order of named_parameters(), tied
  // ones once, by index into Program::parameters().
  const std::vector<std::size_t>& parameters_of(ModuleId module) const;
  // Index of the parameter's first name; absent for anything that is not a parameter.
  std::optional<std::size_t> find_parameter(const std::string& qualified_name) const;
  const std::string& parameter_name(std::size_t index) const { return (*parameters_)[index].name; }

 private:
  const std::vector<ModuleInfo>* modules_;
  const std::vector<ParameterRecord>* parameters_;
  std::vector<std::size_t> first_parameter_;  // by parameter: index of its first name
  std::unordered_map<std::string, std::size_t> by_name_;
  mutable std::vector<std::optional<std::vector<std::size_t>>> subtree_parameters_;  // by module
};

// Modules that failed, in the order in which that was found out.
class FailedModules {
 public:
  bool contains(ModuleId module) const { return failures_.count(module) != 0; }
  void add(ModuleId module, Failure failure);
  const std::vector<ModuleId>& order() const { return order_; }
  const Failure& failure(ModuleId module) const { return failures_.at(module); }
  // Takes back all but the first `count`.
  void resize(std::size_t count);

 private:
  std::vector<ModuleId> order_;
  std::map<ModuleId, Failure> failures_;
};

class GraphTracer {
 public:
  // `max_nodes`: and module calls.  `fixed`: inputs that earlier runs of the same graph were asked for.  All
  // references must outlive this.
  GraphTracer(const ModuleFacts& facts, const LeafRules& rules, std::int64_t max_nodes, FailedModules& failed,
              ModuleId root, const std::vector<FixedInput>& fixed);

  const LeafRules& rules() const { return rules_; }
  bool is_fixed(const std::string& input) const;

  // --- nodes ---
  NodeId placeholder(const std::string& name, std::vector<Argument> default_value, Meta meta);
  // One node for each target, made at the first use.
  NodeId get_attr(const std::string& target, Meta meta, std::optional<SourceLocation> source);
  // A node for each use: the value may have changed since the last.
  NodeId get_attr_again(const std::string& target, Meta meta, std::optional<SourceLocation> source);
  // A tensor of the program's own, under its own name in the graph's constants.
  NodeId get_constant(const std::string& name, const std::function<Constant()>& make);
  // A tensor or script object that has no qualified name.  `identity` tells equal ones.
  NodeId constant(const void* identity, const std::function<Constant()>& make,
                  std::optional<SourceLocation> source);
  // `name_hint`: what the node is called if it can be; empty: made from the target.
  NodeId call_function(std::string target, std::vector<Argument> args, Kwargs kwargs, Meta meta,
                       std::optional<SourceLocation> source, std::string name_hint = {});
  NodeId call_method(std::string target, std::vector<Argument> args, Kwargs kwargs, Meta meta,
                     std::optional<SourceLocation> source);
  void output(Argument value, Meta meta);
  void guard(Expression expr, std::optional<SourceLocation> source);
  // An option for this graph does nothing.
  void misfit(std::string message) { misfits_.push_back(std::move(message)); }
  const std::vector<std::string>& misfits() const { return misfits_; }
  // What an exported program says of its inputs and outputs.
  void set_signature(GraphSignature signature);
  const Graph& graph() const { return recording().result.graph; }

  // --- bodies of higher-order operators ---
  // From begin_body() to end_body() nodes go to a graph of their own, which becomes the subgraph `name` of
  // the one around it.  No inlined call may fail in between.
  void begin_body(std::string name);
  void end_body();
  // The call of the operator whose bodies were recorded.  Parameters among `for_bodies` are used where the
  // bodies use them, not by the call.
  NodeId call_with_bodies(std::string target, std::vector<Argument> args, Kwargs kwargs, Meta meta,
                          std::optional<SourceLocation> source, std::string name_hint,
                          const std::vector<NodeId>& for_bodies);
  // Using this node is using the parameter: a body gets parameters as its inputs.
  void stands_for_parameter(NodeId node, const std::string& qualified_name);

  // --- modules ---
  bool is_leaf(ModuleId module) const;
  bool has_failed(ModuleId module) const { return failed_.contains(module); }
  // Whether this graph calls the module, or one that holds it, as a leaf: then its attributes may change.
  bool runs_in_leaf(ModuleId module) const;
  // `method`: what runs instead of forward (see Node::method).
  NodeId call_leaf(ModuleId module, std::vector<Argument> args, Kwargs kwargs, Meta meta,
                   std::optional<SourceLocation> source, std::string method = {});
  // Runs `body` as the forward of `module`.  False when that failed: then everything recorded since is gone,
  // the module is a leaf from now on, and the caller records it as one.
  bool inline_call(ModuleId module, const std::function<void()>& body);
  // Runs `body`, which calls no module, and takes back what it recorded.
  void look_at(const std::function<void()>& body);
  // As inline_call() for a front end that knows that nothing will fail: what is recorded until leave_call()
  // is the module's.  A call whose nodes do not stand together is entered once and resumed later.
  // enter_call() gives the number that resume_call() asks for.
  std::int64_t enter_call(ModuleId module);
  void resume_call(ModuleId module, std::int64_t call);
  void leave_call();
  void set_program_nodes(NodeId call, std::vector<std::string> names);
  void set_meta(NodeId node, Meta meta);
  ModuleId current_module() const { return scopes_.back().module; }
  // The stub of a graph whose own root cannot be followed.
  NodeId call_root(std::vector<Argument> args, Meta meta);

  // --- the end ---
  // A module was found to fail after a call of it had already been inlined in this graph.
  bool stale() const { return stale_; }
  ModuleGraph take();
  const std::vector<ModuleId>& inlined() const { return inlined_; }

 private:
  struct OpenScope {
    ModuleId module;
    Scope scope;
  };
  // One step that roll_back() undoes.
  struct Undo {
    enum Kind {
      kForward,
      kUse,
      kUsesReset,
      kParameter,
      kFirstCall,
      kAttribute,
      kConstant,
      kInlined,
      kLeaf,
      kGuard
    } kind;
    ModuleId module;
    std::vector<std::pair<ModuleId, std::vector<std::size_t>>> old_uses;
    std::string key;
    const void* identity = nullptr;
  };
  struct Mark {
    Graph::Mark graph;
    std::size_t undo;
  };
  using Uses = std::vector<std::pair<ModuleId, std::vector<std::size_t>>>;  // module, its parameters
  // A graph that is being recorded.
  struct Recording {
    ModuleGraph result;
    std::unordered_map<std::string, NodeId> attributes;
    std::unordered_map<const void*, NodeId> constants;
    std::unordered_map<std::uint32_t, std::size_t> parameter_nodes;  // node -> parameter
    std::string name;                                                // of a body
  };

  Recording& recording() { return recordings_.back(); }
  const Recording& recording() const { return recordings_.back(); }
  NodeId append(Graph::NodeSpec spec);
  void use_parameters(const std::vector<Argument>& args, const Kwargs& kwargs,
                      const std::vector<NodeId>& except = {});
  void visit_parameter(std::size_t index);
  void begin_call(ModuleId module);
  void add_use(ModuleId user, ModuleId module, std::vector<std::size_t> parameters);
  void roll_back(const Mark& mark);
  void check_limit();
  void finish_attributes();
  Scope scope_of(ModuleId module, std::int64_t call) const;

  const ModuleFacts& facts_;
  const LeafRules& rules_;
  std::int64_t max_nodes_;
  FailedModules& failed_;
  ModuleId root_;
  const std::vector<FixedInput>& fixed_;
  std::vector<Recording> recordings_;  // the graph, then the bodies that are open
  std::vector<OpenScope> scopes_;
  bool stale_ = false;
  std::vector<std::string> misfits_;

  std::unordered_set<std::string> guard_keys_;                   // what and where
  std::unordered_map<std::uint32_t, std::size_t> inline_count_;  // by module
  std::unordered_map<std::uint32_t, std::size_t> leaf_count_;    // by module
  std::vector<ModuleId> inlined_;

  std::vector<ModuleId> forward_order_;
  std::unordered_map<std::uint32_t, std::int64_t> call_count_;  // by module, in forward_order_
  std::vector<std::size_t> parameter_order_;
  std::vector<bool> parameter_visited_;
  std::vector<ModuleId> first_calls_;
  std::unordered_map<std::uint32_t, Uses> uses_;  // by module
  std::vector<Undo> undo_;
};

}  // namespace fxtrace
