#include "analysis/alias_regions.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

namespace fxtrace::internal {
namespace {

bool is_plain(const Node& node) {
  const ValueKind kind = node.meta->kind();
  return kind != ValueKind::kTensor && kind != ValueKind::kOther;
}

std::size_t count_before(const std::vector<std::uint32_t>& positions, std::uint32_t position) {
  return static_cast<std::size_t>(std::ranges::lower_bound(positions, position) - positions.begin());
}

}  // namespace

std::uint32_t AliasRegions::find(std::uint32_t index) {
  while (parent_[index] != index) index = parent_[index] = parent_[parent_[index]];
  return index;
}

void AliasRegions::unite(NodeId a, NodeId b) {
  if (parent_[a.index] == kNone || parent_[b.index] == kNone) return;
  parent_[find(b.index)] = find(a.index);
}

AliasRegions::AliasRegions(const ModuleGraph& graph, Semantics& semantics) {
  const std::vector<NodeId> order = graph.graph.order();
  std::uint32_t size = 0;
  for (const NodeId id : order) size = std::max(size, id.index + 1);
  parent_.assign(size, kNone);
  region_of_.assign(size, kNone);
  position_.assign(size, 0);

  struct Write {
    NodeId value;
    std::uint32_t position;
    bool changes_shape;
  };
  std::vector<Write> writes;
  std::vector<NodeId> inputs, given_back;
  std::map<std::string, NodeId, std::less<>> attributes;  // by memory_name()
  for (std::uint32_t position = 0; position < order.size(); ++position) {
    const NodeId id = order[position];
    const Node& node = graph.graph.node(id);
    position_[id.index] = position;
    if (!is_plain(node)) parent_[id.index] = id.index;
    if (node.op == Opcode::kPlaceholder || node.op == Opcode::kGetAttr) inputs.push_back(id);
    if (node.op == Opcode::kOutput) for_each_input(node, [&](NodeId value) { given_back.push_back(value); });
    if (node.op == Opcode::kGetAttr) {
      const auto [first, is_new] = attributes.emplace(semantics.memory_name(node.target), id);
      if (!is_new) unite(first->second, id);
      continue;
    }
    const Effects effects = semantics.effects(graph, node);
    for (const NodeId shared : effects.shared) unite(id, shared);
    if (effects.joins_inputs) {
      NodeId first;
      for_each_input(node, [&](NodeId input) {
        if (parent_[input.index] == kNone) return;
        if (first.valid()) unite(first, input);
        first = input;
      });
    }
    for (const NodeId written : effects.written) writes.push_back({written, position, effects.changes_shape});
    if (node.op == Opcode::kCallModule && effects.writes_parameters && !attributes.empty()) {
      semantics.for_each_parameter(called_module(node), [&](const std::string& name) {
        const auto attribute = attributes.find(semantics.memory_name(name));
        if (attribute == attributes.end()) return;
        writes.push_back({attribute->second, position, effects.is_unknown});
        if (effects.is_unknown) unite(id, attribute->second);
      });
    }
  }

  std::vector<std::uint32_t> numbers(size, kNone);
  for (const NodeId id : order) {
    if (parent_[id.index] == kNone) continue;
    std::uint32_t& number = numbers[find(id.index)];
    if (number == kNone) {
      number = static_cast<std::uint32_t>(regions_.size());
      regions_.emplace_back();
    }
    region_of_[id.index] = number;
  }
  for (const NodeId id : inputs) {
    if (has_memory(id)) regions_[region_of_[id.index]].from_outside = true;
  }
  for (const NodeId id : given_back) {
    if (has_memory(id)) regions_[region_of_[id.index]].given_back = true;
  }
  for (const Write& write : writes) {
    if (region_of_[write.value.index] == kNone) continue;
    std::uint32_t& place = regions_[region_of_[write.value.index]].writes;
    if (place == kNone) {
      place = static_cast<std::uint32_t>(writes_.size());
      writes_.emplace_back();
    }
    writes_[place].all.push_back(write.position);
    if (write.changes_shape) writes_[place].shape_changes.push_back(write.position);
  }
  parent_.clear();
}

const AliasRegions::Region* AliasRegions::region(NodeId value) const {
  return has_memory(value) ? &regions_[region_number(value)] : nullptr;
}

std::size_t AliasRegions::region_number(NodeId value) const {
  std::uint32_t number = region_of_[value.index];
  while (regions_[number].part_of != kNone) number = regions_[number].part_of;
  return number;
}

const AliasRegions::Writes& AliasRegions::writes(NodeId value) const {
  static const Writes none;
  const Region* found = region(value);
  return found == nullptr || found->writes == kNone ? none : writes_[found->writes];
}

bool AliasRegions::same_region(NodeId a, NodeId b) const { return has_memory(a) && region(a) == region(b); }

bool AliasRegions::is_from_outside(NodeId value) const {
  const Region* found = region(value);
  return found != nullptr && found->from_outside;
}

bool AliasRegions::is_given_back(NodeId value) const {
  const Region* found = region(value);
  return found != nullptr && found->given_back;
}

bool AliasRegions::changes_shape(NodeId value) const { return !writes(value).shape_changes.empty(); }

std::size_t AliasRegions::writes_before(NodeId value, NodeId node) const {
  return count_before(writes(value).all, position_[node.index]);
}

std::size_t AliasRegions::shape_changes_before(NodeId value, NodeId node) const {
  return count_before(writes(value).shape_changes, position_[node.index]);
}

void AliasRegions::replace_copy(NodeId copy, NodeId value) {
  if (!has_memory(copy) || !has_memory(value) || same_region(copy, value)) return;
  Region& old = regions_[region_number(copy)];
  Region& region = regions_[region_number(value)];
  region.from_outside = region.from_outside || old.from_outside;
  region.given_back = region.given_back || old.given_back;
  old.part_of = static_cast<std::uint32_t>(region_number(value));
}

}  // namespace fxtrace::internal
