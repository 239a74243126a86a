// One node of a graph: the six opcodes of torch.fx with their fields.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/argument.h"
#include "graph/cost.h"
#include "operators/target.h"
#include "support/shared.h"
#include "symbolic/expression.h"

namespace fxtrace {

enum class Opcode { kPlaceholder, kGetAttr, kCallFunction, kCallMethod, kCallModule, kOutput };

// The torch.fx spelling: "call_function".
const char* to_string(Opcode op);

// The module whose forward makes the node: qualified name from the model's root, and type.  In the graph's
// own root module of the model's graph, path is "" and type is absent.
struct Scope {
  std::string module_path;
  std::optional<std::string> module_type;
  std::int64_t call = 1;  // which call of that module in this graph, in the order of module_forward_order
  bool operator==(const Scope&) const = default;
};

// Where in the model's Python source a node comes from.
struct SourceLocation {
  std::string file;
  std::int64_t line = 0;  // from 1; 0 when unknown
  std::string function;
  std::string text;  // the source line, without indentation
  bool operator==(const SourceLocation&) const = default;
};

// What a value is, where that matters: containers, classes and what is not known are all kOther.
enum class ValueKind { kTensor, kInt, kFloat, kBool, kString, kOther };

// What is known of a node's value.
struct Meta {
  using Dim = Expression;           // a number, or an expression of named dimensions
  std::optional<std::string> type;  // "Tensor", "int", "List[Tensor]"
  std::optional<std::vector<Dim>> shape;
  std::optional<std::string> dtype;   // "float32"
  std::optional<std::string> device;  // "cuda:0"; absent for the CPU, and where it is not known
  std::optional<Dim> value;           // of a number or a condition that is known as an expression: batch*2
  bool operator==(const Meta&) const = default;

  ValueKind kind() const;  // of `type`
};

using Kwargs = std::vector<std::pair<std::string, Argument>>;  // in call order

// Of a call that stands for nodes of a program: which of the program's values it takes and gives, by their
// places in that graph of the program.  Not in the JSON.
struct ProgramValues {
  std::vector<std::uint32_t> inputs;  // in the order of for_each_input()
  struct Result {
    std::uint32_t value;
    std::vector<Argument> path;  // indices and keys that lead to it; none when it is the result itself
    bool operator==(const Result&) const = default;
  };
  std::vector<Result> results;
  bool operator==(const ProgramValues&) const = default;
};

struct Node {
  NodeId id;
  std::string name;  // unique in the graph, made as torch.fx makes it
  Opcode op = Opcode::kPlaceholder;
  Shared<std::string> target;
  // Of a call_function: the target is a function of the model's own Python by its qualified name, which may
  // look like an operator's ("pkg.ops.nms").  Never with a target that is_reserved_target().
  bool model_function = false;
  // Of a model_function in what was traced by running it: the call stands for the operations that were
  // recorded in it.  Its arguments are the values that enter, in the order of their first use.
  bool is_recorded = false;
  std::vector<Argument> args;
  Kwargs kwargs;
  std::vector<NodeId> users;  // derived by Graph, in the order in which they came to use this node
  Shared<Scope> scope;
  Shared<Meta> meta;
  Shared<std::optional<SourceLocation>> source;
  // Of a call_module that runs another recorded method than forward: "forward1" of a traced module, where
  // that code differs from forward's.  Empty for all others.
  Shared<std::string> method;
  // Of a call_module in an exported program: names of the program's own nodes that the call stands for.
  Shared<std::vector<std::string>> program_nodes;
  Shared<ProgramValues> program_values;
  Shared<std::optional<Cost>> cost;
};

// What a call_function calls.
inline TargetParts target_parts(const Node& node) {
  return node.model_function ? function_parts(*node.target) : parse_target(*node.target);
}

// Calls f(T) for everything in the node's arguments that is a T, such as Argument::GraphRef.
template <class T, class F>
void for_each_of(const Node& node, F&& f) {
  for_each_argument(node, [&](const Argument& argument) {
    for_each_value(argument, [&](const Argument& value) {
      if (const auto* found = value.get_if<T>()) f(*found);
    });
  });
}

}  // namespace fxtrace
