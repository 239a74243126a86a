// One node of a graph: the six opcodes of torch.fx with their fields, and what running it costs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fxtrace/values.h"
#include "graph/argument.h"
#include "operators/target.h"
#include "shapes/tensor_options.h"
#include "support/shared.h"
#include "symbolic/expression.h"
#include "symbolic/sym_int.h"

namespace fxtrace::internal {

// The cost of running a node or a graph: numbers, or expressions over the graph's dimensions.  Absent fields
// are unknown.  A node without a Cost costs nothing: inputs, parameters, views, sizes.
struct Cost {
  // Multiply-accumulate operations (MACs) of matrix products, convolutions, attention, and operators made of
  // these.  Elementwise operations, reductions and normalisations count none, as in torch.utils.flop_counter,
  // which counts two FLOPs for each MAC.
  std::optional<SymInt> macs;
  // The part of `macs` that torch.utils.flop_counter does not count; absent: none.
  std::optional<SymInt> uncounted_macs = std::nullopt;
  // Bytes of parameters, buffers and constants that are read, shared ones once.
  std::int64_t parameter_bytes = 0;
  // Bytes allocated for results; views and in-place operations allocate none.
  std::optional<SymInt> activation_bytes;
  // The peak of activation bytes, each result being live from the operation that makes it to its last use;
  // for a graph, its inputs are included.
  std::optional<SymInt> peak_bytes;
  // Calls that `macs` leaves out: operators without a rule and modules that cannot be followed, with the
  // number of their calls.
  std::map<std::string, std::int64_t> unknown;
  // The number of calls whose sizes are unknown, counted neither in `macs` nor in the bytes.
  std::int64_t unsized = 0;

  bool operator==(const Cost&) const = default;
};

using fxtrace::Opcode;
using fxtrace::Scope;
using fxtrace::SourceLocation;

// A coarse kind of value; containers, classes and unknown types are all kOther.
enum class ValueKind { kTensor, kInt, kFloat, kBool, kString, kOther };

// The known properties of a node's value.
struct Meta {
  using Dim = Expression;           // a number, or an expression of named dimensions
  std::optional<std::string> type;  // "Tensor", "int", "List[Tensor]"
  std::optional<std::vector<Dim>> shape;
  Dtype dtype = std::nullopt;
  std::optional<Device> device;  // absent for the CPU, and when unknown
  std::optional<Dim> value;      // the value when it is known as an expression: batch*2
  // The items of a list, tuple or dict whose length is known; `keys` has the keys of a dict.  Not in the
  // JSON.
  std::optional<std::vector<Meta>> items = std::nullopt;
  std::vector<std::string> keys = {};
  std::string other_dtype = {};  // the name of a dtype that PyTorch 2.13 does not have; else empty
  bool operator==(const Meta&) const = default;

  ValueKind kind() const;  // the kind of `type`
  // Returns `shape` when every size is known as a symbolic integer; else nothing.
  std::optional<std::vector<SymInt>> sizes() const;
  // Returns the name of `dtype` or `other_dtype`: "float32"; nothing when neither is known.
  std::optional<std::string> dtype_text() const;
  void set_dtype(std::string_view name);  // sets `dtype` or `other_dtype`; "" means unknown
  void copy_dtype(const Meta& from);
  bool has_dtype() const { return dtype || !other_dtype.empty(); }
  Device device_or_cpu() const { return device.value_or(Device()); }
};

using Kwargs = std::vector<std::pair<std::string, Argument>>;  // in call order

// The nodes of an exported program that one node represents, with the program's values that enter and leave
// it.
struct ProgramPart {
  struct Place {
    std::string value;
    // For an input, its position among the arguments or its keyword, then the indices and keys inside.  For
    // a result, the indices and keys that lead to it; empty when it is the result itself.
    std::vector<Argument> path;
    bool operator==(const Place&) const = default;
  };
  std::vector<std::string> nodes;
  std::vector<Place> inputs, results;
  bool operator==(const ProgramPart&) const = default;
};

inline constexpr std::string_view kInOrderOfUse = "in order of use";  // see Node::in_order_of_use

// What a node is made of.  A node that stands for another, in this graph or elsewhere, begins as a copy of
// these.
struct NodeFields {
  Opcode op = Opcode::kPlaceholder;
  // Of a new placeholder, empty: the name that it gets.
  Shared<std::string> target;
  std::vector<Argument> args;
  Kwargs kwargs;
  Shared<Scope> scope;
  Shared<Meta> meta;
  Shared<std::optional<SourceLocation>> source;
  // Unique in the graph, made as torch.fx makes it.  Of a new node, the preferred name; empty: made from the
  // target.
  std::string name;
  // For a call_function: true when the target is the qualified name of a function of the model's own Python,
  // which may look like an operator's ("pkg.ops.nms").  is_reserved_target() is then false.
  bool model_function = false;
  // For a model_function in a model that was traced by running it: the call stands for the operations
  // recorded in it, and its arguments are the values that enter, in the order of their first use.
  bool is_recorded = false;
  // For a call_module in an exported program whose file does not give the names and order of forward's
  // parameters: the arguments are in the order of their first use.
  bool in_order_of_use = false;
  // For a call_module that runs another recorded method than forward: "forward1" of a traced module, when
  // its code differs from forward's.  Empty otherwise.
  Shared<std::string> method = {};
  // For a call_module in an exported program; for a placeholder of a part of its graph, only the nodes.
  Shared<ProgramPart> program = {};
  Shared<std::optional<Cost>> cost = {};
};

struct Node : NodeFields {
  NodeId id;
  std::vector<NodeId> users;  // maintained by Graph, in the order in which they began to use this node
};

// Returns the parsed target of a call_function.
inline TargetParts target_parts(const Node& node) {
  return node.model_function ? function_parts(*node.target) : parse_target(*node.target);
}

// Returns the module that a call_module calls, under its first name.  The target may be a later name.
inline const std::string& called_module(const Node& node) { return node.scope->module_path; }

// Returns the index of an operator.getitem(call, index); nothing for other nodes.
inline std::optional<std::size_t> item_index(const Node& node) {
  if (node.target != "operator.getitem" || node.args.size() != 2) return std::nullopt;
  const auto* index = node.args[1].get_if<std::int64_t>();
  return index != nullptr && *index >= 0 ? std::optional(static_cast<std::size_t>(*index)) : std::nullopt;
}

// Returns the part of a node's arguments at a path; null when there is none.
const Argument* find_part(const Node& node, const std::vector<Argument>& path);

// Calls f(T) for every value of type T in the node's arguments, such as Argument::GraphRef.
template <class T, class F>
void for_each_of(const Node& node, F&& f) {
  for_each_argument(node, [&](const Argument& argument) {
    for_each_value(argument, [&](const Argument& value) {
      if (const auto* found = value.get_if<T>()) f(*found);
    });
  });
}

}  // namespace fxtrace::internal
