// One graph of a program while it is made: the root's, or one of control flow.
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

#include "convert/lower/lowering.h"
#include "convert/lower/module_stacks.h"
#include "convert/lower/written_program.h"
#include "graph/graph.h"
#include "graph/namespace.h"

namespace fxtrace {

// How a tensor of integers stands for numbers: (integer - zero point) * scale.
struct Quantization {
  std::string dtype;                      // "quint8"
  Operand scale, zero_point;              // numbers; or tensors, where the data or the axis decides
  std::optional<std::int64_t> axis = {};  // along which they differ
};

// What all graphs of a program share.
struct LoweringState {
  const GraphCollection& collection;
  WrittenProgram& program;
  ModuleStacks& stacks;
  std::vector<Refusal>& refusals;
  // Makes a tensor of the code an input of the root's graph, and returns its value there.
  std::function<ValueId(const Constant&)> lift;
  // The only element of a tensor that the file has; nothing for others.
  std::function<std::optional<Argument>(const Node&)> element_of;
  bool quantized = true;                             // whether tensors may be quantized
  std::map<std::string, std::string> declared = {};  // schemas without their name, by target
  std::unordered_set<std::uint32_t> trained = {};    // values of the root's graph that need a gradient
  std::size_t unknown = 0;                           // numbers that depend on data so far
  std::unordered_set<std::string> sizes = {};        // symbols in the sizes of inputs
};

// A call with what stands for its arguments.
struct LoweredCall {
  const Node& node;
  std::vector<Operand> args;
  NamedOperands kwargs;

  // Returns the argument at that place or with that name; None where it was left out.
  Operand argument(std::size_t place, std::string_view name = {}) const;
};

// Each node of the source is a value here, or several in a list, tuple or dict, or a plain value.
class Body {
 public:
  // All must outlive this.
  Body(LoweringState& state, const ModuleGraph& source, bool is_condition = false)
      : state_(state), source_(source), is_condition_(is_condition) {}

  ValueId add_value(std::string_view name, Meta meta);
  ValueId add_input(std::string_view name, Meta meta);
  void set(NodeId node, Operand operand) { operands_.insert_or_assign(node.index, std::move(operand)); }
  Operand operand_of(const Argument& argument) const;
  // Lowers all nodes but placeholders and the output.
  void lower_all();
  // Says nothing of what follows from a node that was refused elsewhere.
  void leave_out(NodeId node) { refused_.insert(node.index); }
  // Moves out the graph, with these outputs and without operations that nobody needs.
  ProgramGraph finish(std::vector<Operand> outputs);

  // --- for rewrites ---
  // Of a tensor of the file, which need not be contiguous.
  void set_strides(ValueId id, const std::vector<std::int64_t>& strides) {
    if (strides.size() == value(id).strides.size())
      graph_.values[id.index].strides.assign(strides.begin(), strides.end());
  }
  const ProgramValue& value(ValueId id) const { return graph_.values[id.index]; }
  // Returns what is known of an operand: of a plain value its type, and the value of a number.
  Meta meta_of(const Operand& operand) const;
  // Adds an operation with one result that goes when nobody needs it, and returns the result.
  Operand emit(const Node& node, std::string target, std::vector<Operand> args, NamedOperands kwargs,
               Meta meta, std::string_view name = {});
  // As emit(), with several results.
  std::vector<Operand> emit_all(const Node& node, std::string target, std::vector<Operand> args,
                                const std::vector<Meta>& metas);
  // Of a result that emit() gave: its operation stays where nobody needs it.
  void keep_maker(const Operand& result) { may_go_.erase(makers_.at(result.get_if<ValueId>()->index)); }
  // Of a quantized tensor, which is a value of integers; null for others.
  const Quantization* quantization(const Operand& operand) const;
  void set_quantization(const Operand& operand, Quantization quantization);
  bool may_be_quantized() const { return state_.quantized; }
  // Adds the call as it is, on integers; results that are quantized are so as the given one.  Returns
  // nothing after refusing it.
  std::optional<Operand> call_on_integers(const LoweredCall& call, const Quantization& given);
  // Returns the only element of a tensor of the file that nobody but such questions reads.
  std::optional<Argument> stored_number(const Argument& tensor) const;
  // Whether f() holds for all targets of the node's users.
  bool are_users(const Node& node, const std::function<bool(const std::string&)>& holds) const;
  // Gives an attribute, which the argument is, another value from here on.  Returns whether it is one.
  bool change_attribute(const Argument& argument, const Operand& value);
  // Returns the operation that makes the value; null for an input.
  const Operation* maker(const Operand& operand) const;
  // A number that depends on data, or that no expression says: u0, zuf0.
  Meta unknown_integer();
  Meta unknown_float();
  // Whether it is in the sizes of the program's inputs, so that it is not negative.
  bool is_size_of_input(const std::string& symbol) const;
  // Whether the value is a parameter that needs a gradient; nothing within control flow.
  std::optional<bool> is_trained(ValueId id) const;
  // Returns the value in this graph of a tensor of the code; none within control flow.
  std::optional<ValueId> lift(const Constant& constant);
  // Whether nothing takes the node's value but a loop, to which this graph says whether to go on.
  bool is_condition(const Node& node) const;
  void refuse(const Node& node, std::string why, std::string help = {});

 private:
  std::unordered_set<std::uint32_t> find_needless() const;
  void lower(const Node& node);
  void append(Operation operation);  // under a name that no other one has
  std::optional<Operand> known_number(const Node& node) const;
  void call_operator(const LoweredCall& call);
  void call_with_subgraphs(const LoweredCall& call);
  void keep_with_subgraphs(const LoweredCall& call);
  bool add_results(const LoweredCall& call, const std::vector<SchemaType>& types, Operation& operation,
                   Operand& result);
  Operand add_result(const Node& node, const Meta& meta, std::string_view name,
                     std::vector<std::int64_t> path, Operation& operation);
  ProgramSubgraph lower_subgraph(const std::string& name, const ModuleGraph& source,
                                 const std::vector<Operand>& inputs, const std::vector<bool>& fixed,
                                 std::size_t carried, bool is_condition);
  const Node* find_item(const Node& node, std::size_t index) const;
  std::string name_of_item(const Node& node, std::size_t index) const;
  Operation operation_of(const Node& node, std::string target) const;
  bool all_known(const Meta& meta) const;

  LoweringState& state_;
  const ModuleGraph& source_;
  bool is_condition_;  // of a loop
  ProgramGraph graph_;
  Namespace names_;
  std::unordered_map<std::uint32_t, Operand> operands_;  // by node
  std::unordered_set<std::uint32_t> refused_;            // nodes without an operand, whose users say nothing
  std::unordered_map<std::uint32_t, std::size_t> makers_;      // operations, by the value that emit() gave
  std::unordered_set<std::size_t> may_go_;                     // operations that go when nobody needs them
  std::unordered_map<std::uint32_t, Quantization> quantized_;  // by value
  std::optional<Quantization> given_;                          // of results that are quantized
};

}  // namespace fxtrace
