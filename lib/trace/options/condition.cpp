#include "trace/options/condition.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/analysis/text_form.h"
#include "operators/operators.h"
#include "opinfo/operator_entry.h"
#include "opinfo/python_spelling.h"
#include "opinfo/traits.h"
#include "support/integers.h"
#include "symbolic/python_operators.h"

namespace fxtrace::internal {
namespace {

// Returns whether the argument is of a type whose values never change.
bool is_immutable(const Graph& graph, const Argument& argument) {
  const auto* id = argument.get_if<NodeId>();
  if (id == nullptr) return true;
  const ValueKind kind = graph.node(*id).meta->kind();
  return kind == ValueKind::kInt || kind == ValueKind::kBool || kind == ValueKind::kString;
}

bool asks_size(const Node& node) {
  return node.target == "aten.size.int" || node.target == "aten.dim.default";
}

// Returns whether no user of the tensor may change it in place.
bool keeps_its_shape(const NumberedGraph& graph, const Node& tensor) {
  graph.looked_at += tensor.users.size();
  return std::none_of(tensor.users.begin(), tensor.users.end(), [&](NodeId user) {
    const Node& by = graph.graph.node(user);
    if (asks_size(by)) return false;
    const TargetParts target = target_parts(by);
    return by.model_function || (target.kind == TargetKind::kOperator && may_write(find_operator(target)));
  });
}

// Returns whether the node is a size or rank of a tensor that no user may change in place.
bool is_lasting_size(const NumberedGraph& graph, const Node& node) {
  if (!asks_size(node) || node.args.empty()) return false;
  const auto* tensor = node.args[0].get_if<NodeId>();
  return tensor != nullptr && keeps_its_shape(graph, graph.graph.node(*tensor));
}

// Returns whether the function makes a number of a tensor and has no other effect.
bool reads_only(std::string_view target) {
  return target == "builtins.bool" || target == "builtins.float" || target == "builtins.int" ||
         target == "builtins.len";
}

bool is_function_of_arguments(const NumberedGraph& graph, const Node& node) {
  static const std::set<std::string_view> functions = {
      "operator.add", "operator.sub", "operator.mul", "operator.floordiv", "operator.mod",
      "operator.neg", "operator.eq",  "operator.ne",  "operator.lt",       "operator.le",
      "operator.gt",  "operator.ge",  "operator.not_"};
  if (node.op != Opcode::kCallFunction || !node.kwargs.empty()) return false;
  // The answer to `is None` never changes for a value.
  if (node.target == "operator.is_" || node.target == "operator.is_not" || is_lasting_size(graph, node)) {
    return true;
  }
  return functions.contains(python_function(*node.target)) &&
         std::all_of(node.args.begin(), node.args.end(),
                     [&](const Argument& argument) { return is_immutable(graph.graph, argument); });
}

// Bounds on the expansion of a value: n + n, nested twenty times, has a million paths.
constexpr int kMaxDepth = 20;
constexpr int kMaxSteps = 300;

std::string value_key(const NumberedGraph& graph, const Argument& argument, int& steps, int depth = 0) {
  const auto* id = argument.get_if<NodeId>();
  if (id == nullptr) return print_argument(graph.graph, argument);
  const Node& node = graph.graph.node(*id);
  if (depth == kMaxDepth || ++steps > kMaxSteps || !is_function_of_arguments(graph, node)) {
    return "%" + node.name;
  }
  std::string key = *node.target + "(";
  for (const Argument& part : node.args) key += value_key(graph, part, steps, depth + 1) + ",";
  return key + ")";
}

// Returns the position of the argument that lists the sizes of the result; nothing when there is none.
std::optional<std::size_t> sizes_argument(const Node& node) {
  const Operator* op = find_operator(target_parts(node));
  if (op == nullptr || entry_of(*op).sizes.empty()) return std::nullopt;
  return entry_of(*op).schema.find_argument(entry_of(*op).sizes);
}

class Integers {
 public:
  Integers(const NumberedGraph& graph, ShapeEnv& dimensions)
      : numbered_(graph), graph_(graph.graph), dimensions_(dimensions) {}

  std::optional<SymInt> evaluate(const Argument& value, int depth = 0) {
    if (const auto* number = value.get_if<std::int64_t>()) return SymInt(*number);
    const Node* node = node_of(value);
    if (node == nullptr || node->meta->kind() != ValueKind::kInt) return std::nullopt;
    if (node->meta->value && node->meta->value->size() != nullptr) return *node->meta->value->size();
    if (may_go_on(depth) && node->op == Opcode::kCallFunction && node->kwargs.empty()) {
      try {
        if (auto known = of_call(*node, depth + 1)) return known;
      } catch (const SymbolicError&) {
        // Without a symbolic form the value becomes a dimension of its own.
      }
    }
    return symbol("value", *node, false);
  }

 private:
  bool may_go_on(int depth) { return depth < kMaxDepth && ++steps_ < kMaxSteps; }

  const Node* node_of(const Argument& value) const {
    const auto* id = value.get_if<NodeId>();
    return id == nullptr ? nullptr : &graph_.node(*id);
  }

  SymInt symbol(const std::string& what, const Node& node, bool is_size) {
    const std::string name =
        what + "_of_" + std::to_string(numbered_.number) + "_" + std::to_string(node.id.index);
    if (!is_size) dimensions_.narrow(name, {});
    return SymInt::symbol(name);
  }

  std::optional<SymInt> of_call(const Node& node, int depth) {
    const std::string& target = node.target;
    const BinaryOperation* operation =
        node.args.size() == 2 ? find_operation(python_function(target)) : nullptr;
    if (operation != nullptr && operation->sizes != nullptr) {
      const auto left = evaluate(node.args[0], depth), right = evaluate(node.args[1], depth);
      return left && right ? std::optional(operation->sizes(*left, *right)) : std::nullopt;
    }
    if (node.args.empty()) return std::nullopt;
    const Node* of_what = node_of(node.args[0]);
    if (of_what == nullptr) return std::nullopt;
    const Node* sized = sized_by(*of_what);
    if (target == "aten.dim.default") return rank(*of_what, depth);
    if (target == "builtins.len") {
      if (sized != nullptr) return rank(*sized, depth);
      return of_what->meta->kind() == ValueKind::kTensor ? size(*of_what, 0, depth)
                                                         : length(node.args[0], depth);
    }
    const auto* index = node.args.size() == 2 ? node.args[1].get_if<std::int64_t>() : nullptr;
    if (index == nullptr) return std::nullopt;
    if (target == "aten.size.int") return size(*of_what, *index, depth);
    if (target == "operator.getitem" && sized != nullptr) return size(*sized, *index, depth);
    return std::nullopt;
  }

  // Returns the tensor of which the list has the sizes; null when there is none.
  const Node* sized_by(const Node& list) const {
    const bool is_sizes = list.target == "aten.size.default" && list.args.size() == 1;
    return is_sizes ? node_of(list.args[0]) : nullptr;
  }

  // Returns the tensor from which a pointwise operator of one tensor, or one with the trait, makes this one;
  // null when there is none.
  const Node* same_shape(const Node& tensor, Traits trait) const {
    if (tensor.op != Opcode::kCallFunction || tensor.args.empty()) return nullptr;
    const Traits known = traits_of(find_operator(target_parts(tensor)));
    std::size_t tensors = 0;
    for_each_input(tensor,
                   [&](NodeId id) { tensors += graph_.node(id).meta->kind() == ValueKind::kTensor ? 1 : 0; });
    const bool is_pointwise = (known & traits::kPointwise) != 0 && tensors == 1;
    const Node* first = is_pointwise || (known & trait) != 0 ? node_of(tensor.args[0]) : nullptr;
    return first != nullptr && first->meta->kind() == ValueKind::kTensor ? first : nullptr;
  }

  // Shapes of parameters are left out: --param-shapes-constant decides about them.
  static bool knows_shape(const Node& tensor) {
    return tensor.meta->shape.has_value() && tensor.op != Opcode::kGetAttr;
  }

  std::optional<SymInt> rank(const Node& tensor, int depth) {
    if (!keeps_its_shape(numbered_, tensor)) return std::nullopt;
    if (knows_shape(tensor)) return SymInt(static_cast<std::int64_t>(tensor.meta->shape->size()));
    if (tensor.target == "aten.eye.default" || tensor.target == "aten.eye.m") return SymInt(2);
    const auto sizes = sizes_argument(tensor);
    if (sizes && *sizes < tensor.args.size()) {
      if (auto known = length(tensor.args[*sizes], depth)) return known;
    }
    if (const Node* first = depth < kMaxDepth ? same_shape(tensor, traits::kKeepsRank) : nullptr)
      return rank(*first, depth + 1);
    return dimensions_.simplify(symbol("rank", tensor, true));
  }

  // Returns the length of a list.
  std::optional<SymInt> length(const Argument& list, int depth) {
    if (const auto* items = list.get_if<Argument::List>())
      return SymInt(static_cast<std::int64_t>(items->items.size()));
    const Node* node = node_of(list);
    if (node == nullptr || !may_go_on(depth) || node->meta->kind() == ValueKind::kTensor) return std::nullopt;
    if (const Node* sized = sized_by(*node)) return rank(*sized, depth + 1);
    if (node->target != "operator.add" || node->args.size() != 2) return std::nullopt;
    const auto left = length(node->args[0], depth + 1), right = length(node->args[1], depth + 1);
    return left && right ? std::optional(*left + *right) : std::nullopt;
  }

  std::optional<SymInt> size(const Node& tensor, std::int64_t index, int depth) {
    if (!keeps_its_shape(numbered_, tensor)) return std::nullopt;
    std::optional<std::int64_t> count;
    if (const auto known = rank(tensor, depth)) count = known->number();
    if (index < 0 && count && *count + index >= 0) index += *count;
    if (knows_shape(tensor) && index >= 0 && index < *count) {
      if (const SymInt* known = (*tensor.meta->shape)[static_cast<std::size_t>(index)].size()) return *known;
    }
    if (tensor.target == "aten.eye.default") return evaluate(tensor.args[0], depth + 1);
    const auto sizes = sizes_argument(tensor);
    if (sizes && *sizes < tensor.args.size()) {
      if (auto known = item(tensor.args[*sizes], index, depth)) return known;
    }
    if (const Node* first = depth < kMaxDepth ? same_shape(tensor, 0) : nullptr)
      return size(*first, index, depth + 1);
    if (index == std::numeric_limits<std::int64_t>::min()) return std::nullopt;
    return symbol(index < 0 ? "size_end" + std::to_string(-index) : "size" + std::to_string(index), tensor,
                  true);
  }

  // Returns an item of a list of sizes; nothing for -1, which PyTorch infers.
  std::optional<SymInt> item(const Argument& list, std::int64_t index, int depth) {
    if (const auto* items = list.get_if<Argument::List>()) {
      const auto place = find_position(std::ssize(items->items), index);
      if (!place) return std::nullopt;
      const auto* number = items->items[*place].get_if<std::int64_t>();
      return number != nullptr && *number >= 0 ? std::optional(SymInt(*number)) : std::nullopt;
    }
    const Node* node = node_of(list);
    const bool is_end =
        node != nullptr && node->target == "operator.add" && node->args.size() == 2 && index < 0;
    return is_end && depth < kMaxDepth ? item(node->args[1], index, depth + 1) : std::nullopt;
  }

  const NumberedGraph& numbered_;
  const Graph& graph_;
  ShapeEnv& dimensions_;
  int steps_ = 0;
};

// Returns the condition without its negations; flips `opposite` for each.
const Node& without_not(const Graph& graph, NodeId condition, bool& opposite) {
  const Node* node = &graph.node(condition);
  while (node->target == "operator.not_" && node->args.size() == 1 && node->args[0].is<NodeId>()) {
    opposite = !opposite;
    node = &graph.node(*node->args[0].get_if<NodeId>());
  }
  return *node;
}

}  // namespace

std::optional<SymInt> integer_of(const NumberedGraph& graph, const Argument& value, ShapeEnv& dimensions) {
  return Integers(graph, dimensions).evaluate(value);
}

std::optional<Comparison> comparison_of(const NumberedGraph& graph, NodeId condition, ShapeEnv& dimensions) {
  bool opposite = false;
  const Node* node = &without_not(graph.graph, condition, opposite);
  const PythonOperator* op = operator_of_target(python_function(*node->target));
  if (op == nullptr || !op->relation || node->args.size() != 2) return std::nullopt;
  const auto left = integer_of(graph, node->args[0], dimensions);
  const auto right = integer_of(graph, node->args[1], dimensions);
  if (!left || !right) return std::nullopt;
  return Comparison{opposite ? negated(*op->relation) : *op->relation, *left, *right};
}

bool is_unwritten(const NumberedGraph& numbered, NodeId value) {
  const Graph& graph = numbered.graph;
  constexpr std::size_t kMaxNodes = 1000;
  struct Part {
    NodeId node;
    bool made_of = true;  // false: it only shares memory with a part, so its own inputs do not matter
  };
  std::set<std::pair<std::uint32_t, bool>> seen;
  std::vector<Part> pending;
  const auto look_at = [&](NodeId node, bool made_of) {
    if (seen.emplace(node.index, made_of).second) pending.push_back({node, made_of});
  };
  look_at(value, true);
  while (!pending.empty()) {
    const Part part = pending.back();
    pending.pop_back();
    if (seen.size() > kMaxNodes) return false;
    const Node& node = graph.node(part.node);
    if (node.op != Opcode::kCallFunction && node.op != Opcode::kGetAttr) return false;
    if (part.made_of) for_each_input(node, [&](NodeId input) { look_at(input, true); });
    const ValueKind kind = node.meta->kind();
    if (kind == ValueKind::kInt || kind == ValueKind::kFloat || kind == ValueKind::kBool) continue;
    numbered.looked_at += node.users.size();
    for (const NodeId user : node.users) {
      const Node& by = graph.node(user);
      if (by.op != Opcode::kCallFunction || by.model_function) return false;
      const TargetParts target = target_parts(by);
      if (target.kind == TargetKind::kPython && reads_only(*by.target)) continue;
      const Operator* op = target.kind == TargetKind::kOperator ? find_operator(target) : nullptr;
      if (op == nullptr || may_write(op)) return false;
      if (!entry_of(*op).aliases.empty()) look_at(user, false);
    }
  }
  return true;
}

namespace {

// Returns whether the result does not depend on the elements of tensors.
bool asks_no_elements(const Node& node) {
  if (node.op != Opcode::kCallFunction) return false;
  return node.target == "builtins.getattr" || node.target == "operator.is_" ||
         node.target == "operator.is_not" ||
         has_trait(find_operator(parse_target(*node.target)), traits::kGivesSize);
}

bool writes_to(const Node& node, NodeId tensor) {
  const Operator* op = find_operator(parse_target(*node.target));
  if (!may_write(op)) return false;
  const Schema schema = op->schema();
  const auto is_tensor = [&](const Argument& argument) {
    bool found = false;
    for_each_reference(argument, [&](NodeId used) { found = found || used == tensor; });
    return found;
  };
  for (std::size_t i = 0; i < node.args.size(); ++i) {
    if ((i >= schema.arguments.size() || schema.is_written(i)) && is_tensor(node.args[i])) return true;
  }
  return std::ranges::any_of(node.kwargs, [&](const auto& item) {
    const SchemaArgument* argument = schema.find_formal(item.first);
    return (argument == nullptr || argument->is_written) && is_tensor(item.second);
  });
}

}  // namespace

bool reads_state(const NumberedGraph& numbered, NodeId value) {
  const Graph& graph = numbered.graph;
  constexpr std::size_t kMaxNodes = 1000;
  struct Part {
    NodeId node;
    bool made_of = true;  // false: it only shares memory with a part
  };
  std::set<std::pair<std::uint32_t, bool>> seen;
  std::vector<Part> pending;
  const auto look_at = [&](NodeId node, bool made_of) {
    if (seen.emplace(node.index, made_of).second) pending.push_back({node, made_of});
  };
  look_at(value, true);
  while (!pending.empty() && seen.size() <= kMaxNodes) {
    const Part part = pending.back();
    pending.pop_back();
    const Node& node = graph.node(part.node);
    if (part.made_of && !asks_no_elements(node))
      for_each_input(node, [&](NodeId input) { look_at(input, true); });
    const ValueKind kind = node.meta->kind();
    if (kind != ValueKind::kTensor && kind != ValueKind::kOther) {
      if (node.op == Opcode::kGetAttr) return true;  // attributes that never change are read from the file
      continue;
    }
    numbered.looked_at += node.users.size();
    for (const NodeId user : node.users) {
      const Node& by = graph.node(user);
      if (by.op != Opcode::kCallFunction || target_parts(by).kind != TargetKind::kOperator) continue;
      if (writes_to(by, part.node)) return true;
      const Operator* op = find_operator(target_parts(by));
      if (op != nullptr && !entry_of(*op).aliases.empty()) look_at(user, false);
    }
  }
  return false;
}

std::string condition_key(const NumberedGraph& graph, NodeId condition, bool& opposite) {
  const Node* node = &without_not(graph.graph, condition, opposite);
  int steps = 0;
  if (node->args.size() != 2 || !is_function_of_arguments(graph, *node))
    return value_key(graph, node->id, steps);
  // A comparison, its mirror image and their negations share one spelling.
  struct Spelling {
    std::string_view target;
    bool swapped, opposite;
  };
  static const std::map<std::string_view, Spelling> spellings = {
      {"operator.lt", {"operator.gt", true, false}},
      {"operator.le", {"operator.gt", false, true}},
      {"operator.ge", {"operator.gt", true, true}},
      {"operator.ne", {"operator.eq", false, true}},
      {"operator.is_not", {"operator.is_", false, true}}};
  Spelling spelling{python_function(*node->target), false, false};
  if (const auto found = spellings.find(spelling.target); found != spellings.end()) spelling = found->second;
  opposite = opposite != spelling.opposite;
  const std::string first = value_key(graph, node->args[spelling.swapped ? 1 : 0], steps);
  const std::string second = value_key(graph, node->args[spelling.swapped ? 0 : 1], steps);
  return std::string(spelling.target) + "(" + first + "," + second + ",)";
}

}  // namespace fxtrace::internal
