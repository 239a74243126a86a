#include "analysis/switches.h"

#include "operators/names/function_traits.h"

namespace fxtrace::internal {

std::vector<NodeId> Switches::add(const Node& node) {
  using namespace function_traits;  // NOLINT(google-build-using-namespace)
  const FunctionTraits all =
      node.op == Opcode::kCallFunction ? find_python_function(node.target).traits : FunctionTraits{};
  const auto has = [&](FunctionTraits trait) { return (all & trait) != 0; };
  if (has(kLogs) && node.users.empty()) return {node.id};
  if (has(kOpensRegion)) return open(node);
  if (has(kClosesRegion)) {
    regions_.push_back({node.id});
  } else if (has(kSetsMode)) {
    if (is_set_behind_ && node.users.empty()) return {node.id};
    is_set_behind_ = true;
  } else if (may_depend_on_switches(node)) {
    is_set_behind_ = false;
    for (Region& region : regions_) region.has_calls = true;
  }
  return {};
}

std::vector<NodeId> Switches::open(const Node& node) {
  if (regions_.empty() || node.users.size() != 1 || node.users.front() != regions_.back().closed_by) {
    regions_.clear();  // the ends of the enclosing regions are no longer certain
    return {};
  }
  const Region region = regions_.back();
  regions_.pop_back();
  if (region.has_calls || !graph_.graph.node(region.closed_by).users.empty()) return {};
  return {region.closed_by, node.id};
}

// Returns whether a mode may change what the node computes.  It may for all nodes with tensors, except those
// that only read sizes, and for none that only calculate with numbers.
bool Switches::may_depend_on_switches(const Node& node) {
  if (node.op == Opcode::kPlaceholder || node.op == Opcode::kGetAttr || node.op == Opcode::kOutput)
    return false;
  if (node.op != Opcode::kCallFunction) return true;
  const Effects effects = semantics_.effects(graph_, node);
  if (effects.is_unknown || effects.is_random || !effects.written.empty()) return true;
  if (!effects.reads_elements) return false;
  if (!effects.asserts && !is_number(node)) return true;
  bool all_numbers = true;
  for_each_input(node,
                 [&](NodeId input) { all_numbers = all_numbers && is_number(graph_.graph.node(input)); });
  return !all_numbers;
}

bool Switches::is_number(const Node& node) const {
  const ValueKind kind = node.meta->kind();
  return kind == ValueKind::kInt || kind == ValueKind::kFloat || kind == ValueKind::kBool;
}

}  // namespace fxtrace::internal
