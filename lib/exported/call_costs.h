// What the operations of an exported program cost that one call of a leaf stands for.
#pragma once

#include <cstdint>
#include <vector>

#include "exported/program_graph.h"
#include "graph/cost.h"
#include "shapes/abstract_value.h"

namespace fxtrace {

class OperationCosts {
 public:
  // `uses` as count_uses().  Both must outlive this.
  OperationCosts(const ProgramGraph& graph, const std::vector<std::uint32_t>& uses);

  // Of these operations of the graph, by index, in their order.  Values that others make are there already.
  Cost cost_of(const std::vector<std::uint32_t>& operations);

 private:
  friend class OperationSum;

  const ProgramGraph& graph_;
  const std::vector<std::uint32_t>& uses_;
  std::vector<AbstractValue> known_;  // by value
  std::vector<bool> is_known_;        // likewise
};

}  // namespace fxtrace
