// Body: one graph of a program while it is lowered, the root's or a subgraph of control flow.
//
// A Body maps each node of the traced graph to an Argument (set(), operand_of()) and appends operations for
// the calls that need one (graph/program_view.h).  Names are unique within the graph.  A node that is refused
// has no operand; nodes that use it are skipped.  Operations that emit() has added go in finish() if no
// result of theirs is used.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "analysis/alias_regions.h"
#include "convert/lower/lowering.h"
#include "convert/lower/metadata.h"
#include "convert/lower/written_program.h"
#include "graph/graph.h"
#include "graph/namespace.h"

namespace fxtrace::internal {

// The quantization of a tensor of integers, which stands for (integer - zero point) * scale.
struct Quantization {
  std::string dtype;                      // "quint8"
  Argument scale, zero_point;             // numbers; tensors if the data or the axis determines them
  std::optional<std::int64_t> axis = {};  // the axis along which they differ
};

// The state that all graphs of a program share.
struct LoweringState {
  const GraphCollection& collection;
  Semantics& semantics;
  WrittenProgram& program;
  ModuleStacks& stacks;
  std::vector<Refusal>& refusals;
  // Makes a constant tensor an input of the root's graph, and returns its value there.
  std::function<NodeId(const Constant&)> lift;
  // Returns the constant tensor that a get_attr node of a subgraph reads; nothing if a program has no such.
  std::function<std::optional<Constant>(const ModuleGraph&, const Node&)> constant_of;
  // Returns the element of a one-element tensor of the file; nothing for others.
  std::function<std::optional<Argument>(const Node&)> element_of;
  bool quantized = true;                             // false: calls on quantized tensors are refused
  std::map<std::string, std::string> declared = {};  // declared schemas without their names, by target
  std::unordered_set<std::uint32_t> trained = {};    // values of the root's graph that need a gradient
  std::size_t unknown = 0;                           // the number of unknown numbers so far
  std::unordered_set<std::string> sizes = {};        // symbols in the sizes of inputs
  std::unordered_set<std::string> integers = {};     // symbols in integer inputs
  std::vector<Expression> assumed = {};              // what the program has to check of these
  int depth = 0;                                     // the number of bodies around the one that is lowered
  // Numbers that were read again of a tensor that has not changed: their symbols, and what they are.
  std::map<std::string, SymInt> same_numbers = {};
};

// A call with its lowered arguments.
struct LoweredCall {
  const Node& node;
  std::vector<Argument> args;
  Kwargs kwargs;

  // Returns the argument at that position or with that name; None if it was left out.
  Argument argument(std::size_t place, std::string_view name = {}) const;
};

// One graph while it is lowered (see above).
class Body {
 public:
  // Constant tensors that the bodies of one call use.  Each becomes an operand of the call, and an input of
  // all of its bodies.
  struct Captures {
    Body& around;
    std::vector<std::string> names = {};  // of attributes; empty for a tensor that the code makes
    std::vector<NodeId> outside = {};     // their values in the graph around
  };

  // The arguments must outlive this.  `captures` is null for the root's graph and for bodies that take no
  // other inputs than the traced ones.
  Body(LoweringState& state, const ModuleGraph& source, bool is_condition = false,
       Captures* captures = nullptr)
      : state_(state),
        source_(source),
        memory_(source, state.semantics),
        is_condition_(is_condition),
        captures_(captures) {}

  std::string new_name(std::string_view name) { return names_.create(name); }
  // Throws SymbolicError if a stride does not fit into 64 bits.
  NodeId add_input(std::string_view name, Meta meta) { return add_value({}, name, std::move(meta)); }
  void set(NodeId node, Argument operand);
  // Returns whether the run may write to the tensor that the node gives, by any of its names.
  bool is_written(NodeId node) const { return memory_.is_written(node); }
  Argument operand_of(const Argument& argument) const;
  // Lowers all nodes but placeholders and the output.
  void lower_all();
  // Marks a node that was refused elsewhere: nodes that use it are skipped.
  void leave_out(NodeId node) { refused_.insert(node.index); }
  // Moves out the graph, with these outputs, or a single one that is the output itself, and without unused
  // operations.
  ExportedGraph finish(std::vector<Argument> outputs, bool is_single = false);

  // --- for rewrites ---
  // Sets the strides of a tensor of the file, which need not be contiguous.
  void set_strides(NodeId id, const std::vector<std::int64_t>& strides) {
    auto& own = lowered_.table.strides.at(id.index);
    if (strides.size() == own.size()) own.assign(strides.begin(), strides.end());
  }
  ProgramView view() const { return lowered_.view(); }
  // Returns the metadata of an operand: for a plain value its type, and the value of a number.
  Meta meta_of(const Argument& operand) const;
  // Returns what the operator's shape rule tells of its first result.
  Meta inferred_meta(const std::string& target, const std::vector<Argument>& args,
                     const Kwargs& kwargs) const;
  // Adds an operation with one result, and returns the result.  The operation goes if the result is not used.
  Argument emit(const Node& node, std::string target, std::vector<Argument> args, Kwargs kwargs, Meta meta,
                std::string_view name = {});
  // As emit(), for several results.
  std::vector<Argument> emit_all(const Node& node, std::string target, std::vector<Argument> args,
                                 const std::vector<Meta>& metas);
  // Keeps the operation of a result that emit() gave, even if the result is not used.
  void keep_maker(const Argument& result) { may_go_.erase(value_of(result).index); }
  // Returns the quantization of a value of integers; null if it is not a quantized tensor.
  const Quantization* quantization(const Argument& operand) const;
  void set_quantization(const Argument& operand, Quantization quantization);
  bool may_be_quantized() const { return state_.quantized; }
  // Adds the call unchanged, on integers; quantized results have the quantization `given`.  Returns nothing
  // if it was refused.
  std::optional<Argument> call_on_integers(const LoweredCall& call, const Quantization& given);
  // Returns the element of a one-element tensor of the file, if the node is used only to read it as a number.
  std::optional<Argument> stored_number(const Argument& tensor) const;
  // Returns whether holds(target) is true for all users of the node.
  bool are_users(const Node& node, const std::function<bool(const std::string&)>& holds) const;
  // Sets the value that the list or dict which is the first argument of the node has from here on.  Returns
  // false after refusing the node if another container may hold it.
  bool change_container(const Node& node, Argument value);
  // Return a new symbol for a number that depends on data or has no expression: u0, zuf0.
  Meta unknown_integer();
  Meta unknown_float();
  // Returns whether the symbol occurs in the sizes of the program's inputs, so that it is not negative.
  bool is_size_of_input(const std::string& symbol) const;
  // Has the program check that an integer that is computed of integer inputs is in -most..most, as it would
  // be another one in the archive otherwise.  Sizes of tensors are, and of data a program can check nothing.
  void assume_within(const Argument& number, std::int64_t most);
  // Returns whether the value is a parameter that needs a gradient; nothing within control flow.
  std::optional<bool> is_trained(NodeId id) const;
  // Returns the value of a constant tensor in this graph; `name` is that of the attribute, if it is one.
  // Returns nothing in a body that takes no other inputs than the traced ones.
  std::optional<NodeId> lift(const Constant& constant, const std::string& name = {});
  // Returns the value of each of the captures that this graph uses, by their numbers.
  const std::map<std::size_t, NodeId>& captured() const { return captured_; }
  // Returns the operation whose only result the tensor is; null if the run may write to the tensor.
  const Node* lasting_maker(const Argument& tensor) const;
  // Returns the number that a tensor which nothing writes holds, if it is known or was read; else null.
  const Argument* find_number(const Argument& tensor) const;
  void set_number(const Argument& tensor, const Argument& number);  // does nothing if the run may write to it
  // Says that the symbol of the trace is the value of the number.
  void set_same(const Meta& symbol, const Argument& number);
  // Returns whether the node is used only as the condition of the loop whose condition this graph computes.
  bool is_condition(const Node& node) const;
  void refuse(const Node& node, std::string why, std::string help = {});
  bool is_refused(const Node& node) const { return refused_.contains(node.id.index); }
  // Returns what may tell the shape of a result; empty if all inputs are described.
  std::string help_for_shapes() const;

 private:
  std::unordered_set<std::uint32_t> find_needless() const;
  void lower(const Node& node);
  bool is_too_deep(const Node& node);  // refuses the node then
  bool has_results(const Node& node, NodeId operation, bool is_loop);
  std::optional<Argument> known_number(const Node& node) const;
  void call_operator(const LoweredCall& call);
  void call_with_subgraphs(const LoweredCall& call);
  void keep_with_subgraphs(const LoweredCall& call);
  std::optional<Meta> meta_of_result(const Node& node, const std::vector<SchemaType>& types,
                                     const Operator* op);
  NodeId add_value(Graph::NodeSpec spec, std::string_view name, Meta meta);
  NodeId add_operation(const Node& node, Graph::NodeSpec spec, Meta meta, std::string_view name);
  NodeId add_whole(const Node& node, Graph::NodeSpec spec, Meta meta);
  Argument add_item(NodeId of, std::size_t index, const Meta& meta, const std::string& name);
  std::vector<Argument> add_items(const Node& node, NodeId operation);
  void describe(NodeId operation, const Node& node);
  std::string add_subgraph(std::string name, ExportedGraph body);
  ExportedGraph lower_subgraph(const ModuleGraph& source, const std::vector<Argument>& inputs,
                               const std::vector<bool>& fixed, std::size_t carried, bool is_condition,
                               Captures& captures, std::map<std::size_t, NodeId>& captured);
  void add_captures(ExportedGraph& body, const std::map<std::size_t, NodeId>& captured,
                    const std::vector<NodeId>& outside) const;
  const Node* find_item(const Node& node, std::size_t index) const;
  std::string name_of_item(const Node& node, std::size_t index) const;
  std::uint32_t container_of(NodeId node) const;
  bool is_held(std::uint32_t container) const;
  bool all_known(const Meta& meta) const;

  LoweringState& state_;
  const ModuleGraph& source_;
  AliasRegions memory_;
  bool is_condition_;  // whether the graph computes the condition of a loop
  Captures* captures_;
  std::map<std::size_t, NodeId> captured_;
  ExportedGraph lowered_;
  Graph& graph_ = lowered_.module_graph.graph;
  Namespace names_;  // of the program, which has none for some nodes, and may use one twice
  std::unordered_map<std::uint32_t, Argument> operands_;  // by node
  // Nodes that are a container which another node gave: list += list.  By node; values are nodes.
  std::unordered_map<std::uint32_t, std::uint32_t> containers_;
  // Names of lowered bodies that calls share, by the names of the traced ones.
  std::map<std::string, std::string> invoked_;
  std::unordered_set<std::uint32_t> refused_;            // nodes without an operand, whose users are skipped
  std::unordered_map<std::uint32_t, Argument> numbers_;  // elements of tensors
  std::unordered_set<std::uint32_t> written_;            // tensors that the run may write
  std::unordered_set<std::uint32_t> may_go_;             // operations that go if they are not used
  std::unordered_map<std::uint32_t, Quantization> quantized_;  // by value
  std::optional<Quantization> given_;  // the quantization of quantized results during call_on_integers()
};

}  // namespace fxtrace::internal
