// The cost of a leaf's call, computed from the operations of the exported program that it stands for.
#pragma once

#include <cstdint>
#include <vector>

#include "costs/custom_costs.h"
#include "graph/cost.h"
#include "shapes/abstract_value.h"
#include "trace/modules/program_graph.h"

namespace fxtrace {

class OperationCosts {
 public:
  // `uses` is count_uses(graph).  All must outlive this.
  OperationCosts(const ProgramGraph& graph, const std::vector<std::uint32_t>& uses,
                 const CustomCosts& custom);

  // Returns the cost of these operations (indices into the graph's, ascending).  Values that are made by
  // other operations count as already allocated.
  Cost cost_of(const std::vector<std::uint32_t>& operations);

 private:
  friend class OperationSum;

  const ProgramGraph& graph_;
  const std::vector<std::uint32_t>& uses_;
  const CustomCosts& custom_;
  std::vector<AbstractValue> known_;  // by value: its shape and dtype, once is_known_
  std::vector<bool> is_known_;        // by value
};

}  // namespace fxtrace
