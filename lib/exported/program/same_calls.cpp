#include "exported/program/same_calls.h"

#include <algorithm>

namespace fxtrace::internal {
namespace {

// Operations that only compute sizes are not compared: a size is computed in the call that needs it first,
// and later calls read it.
bool makes_tensor(const ProgramView& graph, NodeId operation) {
  bool any = false;
  graph.for_each_result(operation,
                        [&](NodeId value) { any = any || graph.meta(value).kind() == ValueKind::kTensor; });
  return any;
}

std::vector<const Argument*> parts_of(const Node& operation) {
  std::vector<const Argument*> parts;
  for_each_argument(operation, [&](const Argument& argument) {
    for_each_value(argument, [&](const Argument& part) { parts.push_back(&part); });
  });
  return parts;
}

bool is_size(const ProgramView& graph, const Argument& part) {
  const auto* value = part.get_if<NodeId>();
  return part.is<std::int64_t>() || (value != nullptr && graph.meta(*value).kind() != ValueKind::kTensor);
}

}  // namespace

CallComparison::CallComparison(const ProgramView& graph, const Hierarchy& hierarchy)
    : operations_(hierarchy.calls().size()), children_(hierarchy.calls().size()) {
  const auto& calls = hierarchy.calls();
  for (CallId call = 1; call < calls.size(); ++call) {
    const CallId parent = calls[call].parent;
    std::string_view name = calls[call].path;
    if (name.starts_with(calls[parent].path)) name.remove_prefix(calls[parent].path.size());
    children_[parent][name].push_back(call);
  }
  add(graph);
}

void CallComparison::add(const ProgramView& graph) {
  for (const NodeId operation : graph.operations()) {
    if (graph.facts(operation).has_stack && makes_tensor(graph, operation))
      operations_[graph.facts(operation).call].push_back({graph, operation});
    graph.for_each_subgraph(operation, [&](const std::string&, const ProgramView& body) { add(body); });
  }
}

bool CallComparison::may_be_one_module(CallId a, CallId b) const {
  const auto& of_a = children_[a];
  const auto& of_b = children_[b];
  const auto same_children = [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.size() == y.second.size();
  };
  bool other_sizes = false;
  if (std::ranges::equal(of_a, of_b, same_children) &&
      !std::ranges::equal(operations_[a], operations_[b],
                          [&](const Place& x, const Place& y) { return does_the_same(x, y, other_sizes); }))
    return false;
  return std::ranges::all_of(of_a, [&](const auto& child) {
    const auto other = of_b.find(child.first);
    if (other == of_b.end()) return true;
    for (std::size_t i = 0; i < std::min(child.second.size(), other->second.size()); ++i) {
      if (!may_be_one_module(child.second[i], other->second[i])) return false;
    }
    return true;
  });
}

bool CallComparison::does_the_same(const Place& a, const Place& b, bool& other_sizes) {
  if (*a.graph.node(a.operation).target != *b.graph.node(b.operation).target) return false;
  const auto of_a = parts_of(a.graph.node(a.operation));
  const auto of_b = parts_of(b.graph.node(b.operation));
  bool any_tensor = false;
  bool same_sizes = true;
  const auto same = [&](const Argument* x, const Argument* y) {
    if (is_size(a.graph, *x) || is_size(b.graph, *y)) {
      if (!is_size(a.graph, *x) || !is_size(b.graph, *y)) return false;
      same_sizes = same_sizes && (*x == *y || !x->is<std::int64_t>() || !y->is<std::int64_t>());
      return true;
    }
    const auto* value = x->get_if<NodeId>();
    const auto* other = y->get_if<NodeId>();
    if (value != nullptr && other != nullptr) {
      any_tensor = true;
      other_sizes = other_sizes || a.graph.meta(*value).shape != b.graph.meta(*other).shape;
      return true;
    }
    if (x->value.index() != y->value.index()) return false;
    return items_of(*x) != nullptr || x->is<Argument::Dict>() || x->is<Argument::Slice>() ||
           x->is<Argument::GraphRef>() || *x == *y;
  };
  if (!std::ranges::equal(of_a, of_b, same)) return false;
  return same_sizes || !any_tensor || other_sizes;
}

}  // namespace fxtrace::internal
