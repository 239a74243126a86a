// The data flow through the operations of a leaf, as torch_nn_call.cpp and recurrent_call.cpp ask for it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/program_operations.h"
#include "exported/modules/leaf_call.h"
#include "support/text/qualified_name.h"

namespace fxtrace::internal {

template <std::size_t N>
bool is_among(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

using Values = std::vector<NodeId>;
inline Values used_by(const Node& operation) {
  Values used;
  for_each_input(operation, [&](NodeId value) { used.push_back(value); });
  return used;
}

class Flow {
 public:
  Flow(const LeafOperations& leaf, const LeafNames& names) : leaf_(leaf), names_(names) {
    for (const NodeId id : leaf.operations) {
      const Node& operation = leaf.graph.node(id);
      leaf.graph.for_each_result(id, [&](NodeId value) { makers_.emplace(value.index, &operation); });
    }
  }

  template <class F>
  void for_each_operation(F&& f) const {
    for (const NodeId operation : leaf_.operations) f(leaf_.graph.node(operation));
  }
  const Node* find_operation(std::string_view name) const {
    for (const NodeId operation : leaf_.operations) {
      if (aten_name(leaf_.graph.node(operation)) == name) return &leaf_.graph.node(operation);
    }
    return nullptr;
  }
  std::vector<ProgramResult> results(const Node& operation) const {
    return leaf_.graph.results(operation.id);
  }
  const Node* maker(NodeId value) const {
    const auto found = makers_.find(value.index);
    return found == makers_.end() ? nullptr : found->second;
  }
  bool enters(NodeId value) const {
    const auto& entering = leaf_.boundary.entering;
    return std::find(entering.begin(), entering.end(), value) != entering.end();
  }
  bool is_tensor(NodeId value) const { return meta(value).kind() == ValueKind::kTensor; }
  const Meta& meta(NodeId value) const { return leaf_.graph.meta(value); }
  // Returns the last part of the qualified name of a parameter or buffer ("weight"); empty for other values.
  std::string_view own(NodeId value) const {
    return maker(value) == nullptr && !enters(value) ? QualifiedName(names_.own(value)).last()
                                                     : std::string_view();
  }
  std::string_view call(const Node& operation) const { return names_.call(operation.id); }

  // Follows a value back through operations on a single tensor (views, casts).  Returns the first value that
  // enters, belongs to the model, is made of several tensors, or whose operation satisfies stop().
  template <class Stop>
  NodeId source(NodeId value, Stop&& stop) const {
    while (const Node* made_by = maker(value)) {
      if (stop(*made_by)) break;
      std::optional<NodeId> only;
      bool several = false;
      for (const NodeId used : used_by(*made_by)) {
        if (!is_tensor(used)) continue;
        several = several || (only && *only != used);
        only = used;
      }
      if (!only || several) break;
      value = *only;
    }
    return value;
  }
  NodeId source(NodeId value) const {
    return source(value, [](const Node&) { return false; });
  }

 private:
  const LeafOperations& leaf_;
  const LeafNames& names_;
  std::unordered_map<std::uint32_t, const Node*> makers_;  // by value
};

// Returns the entering value from which an operator's argument is made; nothing when there is none.
inline std::optional<NodeId> given_value(const Flow& flow, const Argument& argument) {
  const auto* value = argument.get_if<NodeId>();
  if (value == nullptr) return std::nullopt;
  const NodeId source = flow.source(*value);
  return flow.enters(source) ? std::optional(source) : std::nullopt;
}

}  // namespace fxtrace::internal
