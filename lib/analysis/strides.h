// Stride analysis: the strides of tensors, where they are certain, which decide whether reshape() returns a
// view or a copy.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "analysis/alias_regions.h"
#include "symbolic/sym_int.h"

namespace fxtrace {

class Strides {
 public:
  // `is_subgraph`: inputs are not assumed to be contiguous.  All three references must outlive this.
  Strides(const ModuleGraph& graph, Semantics& semantics, const AliasRegions& memory, bool is_subgraph)
      : graph_(graph), semantics_(semantics), memory_(memory), is_subgraph_(is_subgraph) {}

  struct Reshaped {
    enum class Kind : std::uint8_t { kUnknown, kView, kCopy, kSame } kind = Kind::kUnknown;
    std::vector<NodeId> contiguous;  // the inputs of the graph that were assumed to be contiguous
  };
  // Returns what reshape(), flatten(), contiguous() and the like return: a view of the first argument if its
  // strides allow one, the argument itself, or a copy.
  Reshaped reshaped(const Node& node);

 private:
  using Sizes = std::vector<SymInt>;
  struct Known {
    Sizes sizes, strides;
    std::set<std::uint32_t> inputs;  // as `contiguous` above
  };

  const Known* find_known(const Argument& argument) const;
  const Known* find_first(const Node& node) const;
  std::optional<Known> strides_of(const Node& node);
  std::optional<Known> of_operator(const Node& node, const OperatorEntry& info, Sizes sizes);
  std::optional<Known> of_view(const Node& node, const OperatorEntry& info, const Sizes& sizes) const;
  std::optional<Known> of_pointwise(const Node& node, const Sizes& sizes) const;
  std::optional<Known> of_item(const Node& node) const;

  const ModuleGraph& graph_;
  Semantics& semantics_;
  const AliasRegions& memory_;
  bool is_subgraph_;
  bool is_read_ = false;
  std::unordered_map<std::uint32_t, Known> known_;  // by node
};

}  // namespace fxtrace
