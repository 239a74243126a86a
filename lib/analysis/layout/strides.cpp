#include "analysis/layout/strides.h"

#include <utility>

#include "opinfo/traits.h"
#include "shapes/contiguous.h"
#include "support/text/identifier.h"

namespace fxtrace::internal {

StridedCall Strides::call(const Node& node, const OperatorEntry& info,
                          std::set<std::uint32_t>& inputs) const {
  const auto find = [this, &inputs](NodeId id) -> std::optional<SizesAndStrides> {
    const auto found = known_.find(id.index);
    if (found == known_.end()) return std::nullopt;
    inputs.insert(found->second.inputs.begin(), found->second.inputs.end());
    return found->second.tensor;
  };
  return {graph_.graph, node, info, find, Certainty::kCertain};
}

Strides::Reshaped Strides::reshaped(const Node& node) {
  try {
    for (NodeId id = is_read_ ? NodeId() : graph_.graph.first(); id.valid(); id = graph_.graph.next(id)) {
      if (auto strides = strides_of(graph_.graph.node(id))) known_.emplace(id.index, *std::move(strides));
    }
    is_read_ = true;
    const OperatorEntry* info = semantics_.find_operator(node.target);
    const auto sizes = node.meta->sizes();
    if (info == nullptr || !sizes) return {};
    std::set<std::uint32_t> inputs;
    Reshaped reshaped{result_of_reshape(call(node, *info, inputs), *sizes)};
    for (const std::uint32_t input : inputs) reshaped.contiguous.push_back(NodeId{input});
    return reshaped;
  } catch (const SymbolicError&) {
    return {};
  }
}

std::optional<Strides::KnownStrides> Strides::strides_of(const Node& node) const {
  auto sizes = node.meta->sizes();
  if (!sizes || node.meta->kind() != ValueKind::kTensor) return std::nullopt;
  if (memory_.has_memory(node.id) && memory_.changes_shape(node.id)) return std::nullopt;
  if (node.op == Opcode::kPlaceholder) {
    if (is_subgraph_ || !is_identifier(*node.target)) return std::nullopt;
    auto strides = contiguous_strides(*sizes);
    return KnownStrides{{*std::move(sizes), std::move(strides)}, {node.id.index}};
  }
  if (node.op != Opcode::kCallFunction) return std::nullopt;
  const bool is_item = node.target == "operator.getitem";
  if (is_item && node.args.size() != 2) return std::nullopt;
  const auto* list = is_item ? node.args.front().get_if<NodeId>() : nullptr;
  const auto* item = is_item ? node.args.back().get_if<std::int64_t>() : nullptr;
  if (is_item && (list == nullptr || item == nullptr)) return std::nullopt;
  const Node& maker = is_item ? graph_.graph.node(*list) : node;
  const OperatorEntry* info = semantics_.find_operator(maker.target);
  if (info == nullptr || info->schema.results.size() != 1 || info->schema.results[0].is_list() != is_item)
    return std::nullopt;
  std::set<std::uint32_t> inputs;
  const StridedCall asked = call(maker, *info, inputs);
  std::optional<std::vector<SymInt>> strides;
  if (!may_write(info->row)) {
    strides = strides_of_result(asked, *sizes, 0);
  } else if (!info->schema.arguments.empty() && info->schema.arguments[0].is_written &&
             (info->traits & traits::kChangesShape) == 0) {
    const auto* first = node.args.empty() ? nullptr : node.args[0].get_if<NodeId>();
    if (auto written = first == nullptr ? std::nullopt : asked.find(*first)) strides = written->strides;
  }
  if (!strides) return std::nullopt;
  return KnownStrides{{*std::move(sizes), *std::move(strides)}, std::move(inputs)};
}

}  // namespace fxtrace::internal
