// Graph parts: the parts of one graph (see partition.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "costs/cost_log.h"
#include "graph/graph_collection.h"
#include "partition/operator_set.h"
#include "partition/partition.h"

namespace fxtrace::internal {

// A sum of sizes: nothing when one is unknown or the sum is too large.
class Total {
 public:
  void add(const std::optional<SymInt>& size) {
    if (!size || !is_known_) {
      is_known_ = false;
      return;
    }
    try {
      sums_.add(sum_, *size);
    } catch (const SymbolicError&) {
      is_known_ = false;
    }
  }
  std::optional<SymInt> value() const { return is_known_ ? std::optional(sums_.size(sum_)) : std::nullopt; }

 private:
  TermSums sums_;
  TermSums::Sum sum_;
  bool is_known_ = true;
};

// The bytes of parameters, buffers or constants, by name.
using AttributeBytes = std::unordered_map<std::string_view, std::int64_t>;

struct GraphParts {
  std::vector<Part> parts;  // in order of execution
  // By NodeId::index: what is said of the call, and the index of its part, absent for what is no call.
  std::vector<Verdict> verdicts;
  std::vector<std::optional<std::size_t>> part_of;

  // Returns whether the call is in a rest; its verdict says why.
  bool is_left(NodeId id) const { return part_of[id.index] && !parts[*part_of[id.index]].set; }
};

// `name` is that of the graph, as Part::graph.
GraphParts make_parts(Verdicts& verdicts, const PartitionRequest& request, const AttributeBytes& parameters,
                      const ModuleGraph& graph, const std::string& name);

}  // namespace fxtrace::internal
