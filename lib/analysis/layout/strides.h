// Stride analysis: the strides of tensors, where they are certain, which decide whether reshape() returns a
// view or a copy.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "analysis/alias_regions.h"
#include "analysis/layout/stride_rules.h"

namespace fxtrace::internal {

class Strides {
 public:
  // `is_subgraph`: inputs are not assumed to be contiguous.  All three references must outlive this.
  Strides(const ModuleGraph& graph, Semantics& semantics, const AliasRegions& memory, bool is_subgraph)
      : graph_(graph), semantics_(semantics), memory_(memory), is_subgraph_(is_subgraph) {}

  struct Reshaped {
    ReshapeResult result = ReshapeResult::kUnknown;
    std::vector<NodeId> contiguous = {};  // the inputs of the graph that were assumed to be contiguous
  };
  // Returns what reshape(), flatten(), contiguous() and the like return: a view of the first argument if its
  // strides allow one, the argument itself, or a copy.
  Reshaped reshaped(const Node& node);

 private:
  struct KnownStrides {
    SizesAndStrides tensor;
    std::set<std::uint32_t> inputs;  // as `contiguous` above
  };

  std::optional<KnownStrides> strides_of(const Node& node) const;
  // Returns the call; what it asks for is added to the inputs.
  StridedCall call(const Node& node, const OperatorEntry& info, std::set<std::uint32_t>& inputs) const;

  const ModuleGraph& graph_;
  Semantics& semantics_;
  const AliasRegions& memory_;
  bool is_subgraph_;
  bool is_read_ = false;
  std::unordered_map<std::uint32_t, KnownStrides> known_;  // by node
};

}  // namespace fxtrace::internal
