#include "trace/condition.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "graph/text_form.h"
#include "operators/operators.h"

namespace fxtrace {
namespace {

// Values of these types stay what they are.
bool is_immutable(const Graph& graph, const Argument& argument) {
  const auto* id = argument.get_if<NodeId>();
  if (id == nullptr) return true;
  const ValueKind kind = graph.node(*id).meta->kind();
  return kind == ValueKind::kInt || kind == ValueKind::kBool || kind == ValueKind::kString;
}

// A tensor's size, where nothing changes the tensor in place.
bool is_lasting_size(const Graph& graph, const Node& node) {
  if ((node.target != "aten.size.int" && node.target != "aten.dim.default") || node.args.empty())
    return false;
  const auto* tensor = node.args[0].get_if<NodeId>();
  if (tensor == nullptr) return false;
  const auto& users = graph.node(*tensor).users;
  return std::none_of(users.begin(), users.end(), [&](NodeId user) {
    const Node& by = graph.node(user);
    const TargetParts target = target_parts(by);
    return by.model_function || (target.kind == TargetKind::kOperator && may_write(find_operator(target)));
  });
}

bool is_function_of_arguments(const Graph& graph, const Node& node) {
  static const std::set<std::string_view> functions = {
      "operator.add", "operator.sub", "operator.mul", "operator.floordiv", "operator.mod",
      "operator.neg", "operator.eq",  "operator.ne",  "operator.lt",       "operator.le",
      "operator.gt",  "operator.ge",  "operator.not_"};
  if (node.op != Opcode::kCallFunction || !node.kwargs.empty()) return false;
  // Whether a value is None never changes.
  if (node.target == "operator.is_" || node.target == "operator.is_not" || is_lasting_size(graph, node)) {
    return true;
  }
  return functions.contains(node.target) &&
         std::all_of(node.args.begin(), node.args.end(),
                     [&](const Argument& argument) { return is_immutable(graph, argument); });
}

std::string value_key(const Graph& graph, const Argument& argument) {
  const auto* id = argument.get_if<NodeId>();
  if (id == nullptr) return print_argument(graph, argument);
  const Node& node = graph.node(*id);
  if (!is_function_of_arguments(graph, node)) return "%" + node.name;
  std::string key = *node.target + "(";
  for (const Argument& part : node.args) key += value_key(graph, part) + ",";
  return key + ")";
}

}  // namespace

std::string condition_key(const Graph& graph, NodeId condition, bool& opposite) {
  const Node* node = &graph.node(condition);
  while (node->target == "operator.not_" && node->args.size() == 1 && node->args[0].is<NodeId>()) {
    opposite = !opposite;
    node = &graph.node(*node->args[0].get_if<NodeId>());
  }
  if (node->args.size() != 2 || !is_function_of_arguments(graph, *node)) return value_key(graph, node->id);
  // One spelling for a comparison, the other way round and negated.
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
  Spelling spelling{node->target, false, false};
  if (const auto found = spellings.find(node->target); found != spellings.end()) spelling = found->second;
  opposite = opposite != spelling.opposite;
  const std::string first = value_key(graph, node->args[spelling.swapped ? 1 : 0]);
  const std::string second = value_key(graph, node->args[spelling.swapped ? 0 : 1]);
  return std::string(spelling.target) + "(" + first + "," + second + ",)";
}

}  // namespace fxtrace
