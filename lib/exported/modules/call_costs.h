// The cost of a leaf's call, computed from the operations of the exported program that it stands for.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/program_operations.h"
#include "costs/custom_costs.h"
#include "graph/cost.h"
#include "shapes/abstract_value.h"

namespace fxtrace {

class OperationCosts {
 public:
  // `uses` is count_uses(graph).  All must outlive this.
  OperationCosts(const ProgramView& graph, const std::vector<std::uint32_t>& uses, const CustomCosts& custom);

  // Returns the cost of these operations, which are in program order.  Values that are made by
  // other operations count as already allocated.
  Cost cost_of(const std::vector<NodeId>& operations);

 private:
  friend class OperationSum;

  const ProgramView graph_;
  const std::vector<std::uint32_t>& uses_;
  const CustomCosts& custom_;
  std::vector<AbstractValue> known_;  // by value: its shape and dtype, once is_known_
  std::vector<bool> is_known_;        // by value
};

}  // namespace fxtrace
