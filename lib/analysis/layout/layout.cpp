#include "analysis/layout/layout.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "opinfo/identities.h"

namespace fxtrace::internal {
namespace {

// Returns whether the result may have the layout of an argument.
bool passes_layout_on(const OperatorEntry* info, const Effects& effects) {
  if (info == nullptr || !effects.shared.empty() || !effects.written.empty()) return true;
  return (info->traits & traits::kPointwise) != 0 || info->identity.copies;
}

}  // namespace

bool is_dense(const ModuleGraph& graph, Semantics& semantics, NodeId value) {
  const Node& node = graph.graph.node(value);
  if (node.op != Opcode::kCallFunction && node.op != Opcode::kCallModule) return false;
  const Effects effects = semantics.effects(graph, node);
  return !effects.is_unknown && effects.shared.empty();
}

bool layout_may_show(const ModuleGraph& graph, Semantics& semantics, NodeId value) {
  constexpr std::size_t kFarEnough = 100;
  std::vector<NodeId> seen{value};
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (seen.size() > kFarEnough) return true;
    for (const NodeId user : graph.graph.node(seen[i]).users) {
      const Node& node = graph.graph.node(user);
      if (node.op == Opcode::kOutput || std::ranges::find(seen, user) != seen.end()) continue;
      const OperatorEntry* info =
          node.op == Opcode::kCallFunction ? semantics.find_operator(node.target) : nullptr;
      const Effects effects = semantics.effects(graph, node);
      if (effects.is_unknown || (info != nullptr && (info->traits & traits::kReadsLayout) != 0)) return true;
      if (passes_layout_on(info, effects)) seen.push_back(user);
    }
  }
  return false;
}

}  // namespace fxtrace::internal
